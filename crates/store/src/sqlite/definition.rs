//! Deployed versions and their sources.

use std::collections::BTreeSet;
use std::sync::Arc;

use meantime_core::DefinitionId;
use meantime_kernel::store::{DefinitionFilter, DefinitionHead, DefinitionRow, Error};
use rusqlite::params;

use super::db::{Columns, Db, int, packed};

const TABLE: &str = "definition";

/// What [`read`] reads, in its order.
macro_rules! columns {
    () => {
        "d.id, d.name, d.version, d.notation, d.label, d.hash, d.deployed_at, d.retired, \
         d.source_name, d.triggers, s.source, s.files"
    };
}

const INSERT: &str = "INSERT INTO definition (id, name, version, notation, label, hash, \
     deployed_at, retired, source_name, triggers) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const INSERT_SOURCE: &str =
    "INSERT INTO definition_source (definition_id, source, files) VALUES (?1, ?2, ?3)";
const RETIRE: &str = "UPDATE definition SET retired = 1 WHERE id = ?1";
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM definition AS d JOIN definition_source AS s ON s.definition_id = d.id WHERE d.id = ?1"
);
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM definition AS d CROSS JOIN definition_source AS s ON s.definition_id = d.id \
     ORDER BY d.id DESC"
);
const NAMED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM definition AS d CROSS JOIN definition_source AS s ON s.definition_id = d.id \
     WHERE d.name = ?1 ORDER BY d.version DESC"
);
const HEADS: &str = "SELECT id, name, version, hash, retired, triggers FROM definition \
     WHERE name = ?1 ORDER BY version DESC";
const NEXT_ID: &str = "SELECT ifnull(max(id), 0) + 1 FROM definition";
const NAME: &str = "SELECT name FROM definition WHERE id = ?1";
const IDS: &str = "SELECT id FROM definition ORDER BY id";

#[cfg(test)]
pub(super) const ALL: &[&str] =
    &[INSERT, INSERT_SOURCE, RETIRE, GET, LIST, NAMED, HEADS, NEXT_ID, NAME, IDS];

pub(super) fn insert(db: &Db<'_>, row: &DefinitionRow) -> Result<(), Error> {
    let id = int(row.id.0);
    db.run(
        INSERT,
        params![
            id,
            row.name,
            row.version,
            row.notation,
            row.label,
            row.hash,
            row.deployed_at.as_millis(),
            row.retired,
            row.source_name,
            packed(&row.triggers),
        ],
    )?;
    db.run(INSERT_SOURCE, params![id, &*row.source, packed(&row.files)]).map(drop)
}

/// The name of a version.
pub(super) fn name(db: &Db<'_>, id: DefinitionId) -> Result<Option<String>, Error> {
    db.first(NAME, [int(id.0)], |row| row.get(0))
}

pub(super) fn retire(db: &Db<'_>, id: DefinitionId) -> Result<(), Error> {
    db.run(RETIRE, [int(id.0)]).map(drop)
}

pub(super) fn get(db: &Db<'_>, id: DefinitionId) -> Result<Option<DefinitionRow>, Error> {
    db.first(GET, [int(id.0)], read)
}

/// Versions that match, latest first.
pub(super) fn list(db: &Db<'_>, filter: &DefinitionFilter) -> Result<Vec<DefinitionRow>, Error> {
    let rows = match &filter.name {
        Some(name) => db.all(NAMED, [name], read)?,
        None => db.all(LIST, [], read)?,
    };
    let mut seen = BTreeSet::new();
    let is_wanted = |row: &DefinitionRow| {
        filter.version.is_none_or(|version| row.version == version)
            && (!filter.latest || (!row.retired && seen.insert(row.name.clone())))
    };
    Ok(rows.into_iter().filter(is_wanted).collect())
}

/// All versions of a name without their sources, latest first.
pub(super) fn heads(db: &Db<'_>, name: &str) -> Result<Vec<DefinitionHead>, Error> {
    db.all(HEADS, [name], |row| head(row, 0))
}

/// The number of the next definition.
pub(super) fn next_id(db: &Db<'_>) -> Result<u64, Error> {
    Ok(db.first(NEXT_ID, [], |row| row.number(0))?.unwrap_or(1))
}

pub(super) fn ids(db: &Db<'_>) -> Result<Vec<DefinitionId>, Error> {
    db.all(IDS, [], |row| row.number(0).map(DefinitionId))
}

/// Reads `id, name, version, hash, retired, triggers` from a column on.
pub(super) fn head(row: &Columns<'_, '_>, from: usize) -> Result<DefinitionHead, Error> {
    Ok(DefinitionHead {
        id: DefinitionId(row.number(from)?),
        name: row.get(from + 1)?,
        version: row.count(from + 2, TABLE)?,
        hash: row.get(from + 3)?,
        retired: row.get(from + 4)?,
        triggers: row.unpacked(from + 5, TABLE)?,
    })
}

fn read(row: &Columns<'_, '_>) -> Result<DefinitionRow, Error> {
    Ok(DefinitionRow {
        id: DefinitionId(row.number(0)?),
        name: row.get(1)?,
        version: row.count(2, TABLE)?,
        notation: row.get(3)?,
        label: row.get(4)?,
        hash: row.get(5)?,
        deployed_at: row.instant(6, TABLE)?,
        retired: row.get(7)?,
        source_name: row.get(8)?,
        triggers: row.unpacked(9, TABLE)?,
        source: row.parsed(10, TABLE, |bytes| std::str::from_utf8(bytes).map(Arc::from))?,
        files: row.unpacked(11, TABLE)?,
    })
}
