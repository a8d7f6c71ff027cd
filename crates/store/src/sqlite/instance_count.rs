//! The number of instances by definition and status.
//!
//! Changes gather in the row of `node`, which every transaction writes anyway: a transaction that
//! starts or ends instances touches no other page for them. When that row has changes of many
//! definitions, all of them move to the table.

use meantime_kernel::store::{Error, InstanceCount};
use rusqlite::params;

use super::db::Db;
use crate::row::Columns as _;
use crate::row::instance_count::Counts;

const GATHERED: &str = "SELECT counts FROM node WHERE id = 1";
const GATHER: &str = "UPDATE node SET counts = ?1 WHERE id = 1";
const ADD: &str = "INSERT INTO instance_count (definition_id, status, count) VALUES (?1, ?2, ?3) \
     ON CONFLICT (definition_id, status) DO UPDATE SET count = count + excluded.count";
const LIST: &str = "SELECT definition_id, status, count FROM instance_count";
const RECOUNT: &str = "SELECT definition_id, phase, count(*) FROM instance GROUP BY 1, 2";

/// A file of an earlier release has no counts.
const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'instance_count')";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[GATHERED, GATHER, ADD, LIST, RECOUNT, IS_THERE];

/// How many changes the row of `node` holds: below a kilobyte.
const MAX_GATHERED: usize = 64;

/// Adds changes.
pub(super) fn add(db: &Db<'_>, changes: &Counts) -> Result<(), Error> {
    match gather(db, changes)? {
        Some(counts) => db.run(GATHER, [counts]).map(drop),
        None => Ok(()),
    }
}

/// What the row of `node` gathers after changes, for a statement that writes this row anyway;
/// nothing if there are none.
pub(super) fn gather(db: &Db<'_>, changes: &Counts) -> Result<Option<Vec<u8>>, Error> {
    if changes.0.is_empty() {
        return Ok(None);
    }
    let mut counts = gathered(db)?;
    counts.add_all(changes);
    if counts.0.len() > MAX_GATHERED {
        for ((definition, status), count) in &counts.0 {
            let definition = crate::row::int(definition.0);
            db.run(ADD, params![definition, status.name(), count])?;
        }
        counts = Counts::default();
    }
    Ok(Some(counts.to_bytes()))
}

fn gathered(db: &Db<'_>) -> Result<Counts, Error> {
    let counts =
        db.first(GATHERED, [], |row| Counts::from_bytes(row.bytes_if(0)?.unwrap_or_default()))?;
    Ok(counts.unwrap_or_default())
}

/// The maintained numbers.
pub(super) fn maintained(db: &Db<'_>) -> Result<Counts, Error> {
    let mut counts = gathered(db)?;
    db.all(LIST, [], |row| counts.read(row))?;
    Ok(counts)
}

pub(super) fn list(db: &Db<'_>) -> Result<Vec<InstanceCount>, Error> {
    Ok(maintained(db)?.list())
}

/// Counts all rows and reports what differs.
pub(super) fn check(db: &Db<'_>, problems: &mut Vec<String>) -> Result<(), Error> {
    if db.first(IS_THERE, [], |row| row.flag(0))? != Some(true) {
        return Ok(());
    }
    let mut counts = Counts::default();
    db.all(RECOUNT, [], |row| counts.read(row))?;
    problems.extend(counts.differences(&maintained(db)?));
    Ok(())
}
