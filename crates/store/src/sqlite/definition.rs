//! Deployed versions and their sources.

use meantime_core::DefinitionId;
use meantime_kernel::store::{
    DefinitionFilter, DefinitionHead, DefinitionPause, DefinitionRow, Error,
};
use rusqlite::params;

use super::db::Db;
use crate::row::definition::{columns, head, head_columns, read_lenient, wanted};
use crate::row::{Columns, int, packed};

const INSERT: &str = "INSERT INTO definition (id, name, version, notation, label, hash, \
     deployed_at, retired, source_name, triggers, paused) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const INSERT_SOURCE: &str =
    "INSERT INTO definition_source (definition_id, source, files) VALUES (?1, ?2, ?3)";
const PAUSE: &str = "UPDATE definition SET paused = ?2 WHERE name = ?1";
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
const HEADS: &str = concat!(
    "SELECT ",
    head_columns!(),
    " FROM definition AS d WHERE d.name = ?1 ORDER BY d.version DESC"
);
const NEXT_ID: &str = "SELECT ifnull(max(id), 0) + 1 FROM definition";
const IDS: &str = "SELECT id FROM definition ORDER BY id";

#[cfg(test)]
pub(super) const ALL: &[&str] =
    &[INSERT, INSERT_SOURCE, PAUSE, RETIRE, GET, LIST, NAMED, HEADS, NEXT_ID, IDS];

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
            row.paused.as_ref().map(packed),
        ],
    )?;
    db.run(INSERT_SOURCE, params![id, &*row.source, packed(&row.files)]).map(drop)
}

pub(super) fn retire(db: &Db<'_>, id: DefinitionId) -> Result<(), Error> {
    db.run(RETIRE, [int(id.0)]).map(drop)
}

/// Sets or ends the pause of all versions of a name.
pub(super) fn pause(db: &Db<'_>, name: &str, pause: Option<&DefinitionPause>) -> Result<(), Error> {
    db.run(PAUSE, params![name, pause.map(packed)]).map(drop)
}

pub(super) fn get(db: &Db<'_>, id: DefinitionId) -> Result<Option<DefinitionRow>, Error> {
    db.first(GET, [int(id.0)], |row| read_lenient(row))
}

/// Versions that match, latest first.
pub(super) fn list(db: &Db<'_>, filter: &DefinitionFilter) -> Result<Vec<DefinitionRow>, Error> {
    let rows = match &filter.name {
        Some(name) => db.all(NAMED, [name], |row| read_lenient(row))?,
        None => db.all(LIST, [], |row| read_lenient(row))?,
    };
    Ok(wanted(rows, filter))
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
