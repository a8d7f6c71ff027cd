//! Deployed versions and their sources.

use std::collections::BTreeSet;
use std::sync::Arc;

use meantime_core::DefinitionId;
use meantime_kernel::store::{DefinitionFilter, DefinitionHead, DefinitionRow, Error};

use super::Columns;

const TABLE: &str = "definition";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "d.id, d.name, d.version, d.notation, d.label, d.hash, d.deployed_at, d.retired, \
         d.source_name, d.triggers, s.source, s.files, d.paused"
    };
}
pub(crate) use columns;

/// The columns that [`head`] reads, in order.
macro_rules! head_columns {
    () => {
        "d.id, d.name, d.version, d.hash, d.retired, d.triggers, d.label, d.paused"
    };
}
pub(crate) use head_columns;

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<DefinitionRow, Error> {
    Ok(DefinitionRow {
        id: DefinitionId(row.number(0)?),
        name: row.text(1)?,
        version: row.count(2, TABLE)?,
        notation: row.text(3)?,
        label: row.text_if(4)?,
        hash: row.text(5)?,
        deployed_at: row.instant(6, TABLE)?,
        retired: row.flag(7)?,
        source_name: row.text(8)?,
        triggers: row.unpacked(9, TABLE)?,
        source: row.parsed(10, TABLE, |bytes| std::str::from_utf8(bytes).map(Arc::from))?,
        files: row.unpacked(11, TABLE)?,
        paused: row.unpacked_if(12, TABLE)?,
    })
}

/// Reads the decodable parts of a row. Of a damaged row only its names are left, and its notation
/// is empty, so that it cannot be run.
pub(crate) fn read_lenient(row: &impl Columns) -> Result<DefinitionRow, Error> {
    match read(row) {
        Err(Error::DamagedRow(_)) => {}
        read => return read,
    }
    Ok(DefinitionRow {
        id: DefinitionId(row.number(0)?),
        name: row.text(1)?,
        version: row.count(2, TABLE)?,
        notation: String::new(),
        label: None,
        hash: row.text(5).unwrap_or_default(),
        deployed_at: row.instant(6, TABLE).unwrap_or_default(),
        retired: row.flag(7)?,
        source_name: String::new(),
        triggers: Vec::new(),
        source: Arc::from(""),
        files: Vec::new(),
        paused: row.unpacked_if(12, TABLE).unwrap_or_default(),
    })
}

/// Reads `head_columns!` from a column on.
pub(crate) fn head(row: &impl Columns, from: usize) -> Result<DefinitionHead, Error> {
    Ok(DefinitionHead {
        id: DefinitionId(row.number(from)?),
        name: row.text(from + 1)?,
        version: row.count(from + 2, TABLE)?,
        hash: row.text(from + 3)?,
        retired: row.flag(from + 4)?,
        // Triggers that cannot be decoded start nothing.
        triggers: row.unpacked(from + 5, TABLE).unwrap_or_default(),
        label: row.text_if(from + 6)?,
        paused: row.unpacked_if(from + 7, TABLE)?,
    })
}

/// The versions that match, of versions in descending order.
pub(crate) fn wanted(rows: Vec<DefinitionRow>, filter: &DefinitionFilter) -> Vec<DefinitionRow> {
    let mut seen = BTreeSet::new();
    let is_wanted = |row: &DefinitionRow| {
        filter.version.is_none_or(|version| row.version == version)
            && (!filter.latest || (!row.retired && seen.insert(row.name.clone())))
    };
    rows.into_iter().filter(is_wanted).collect()
}
