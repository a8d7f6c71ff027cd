//! What was done to the store as a whole.

use meantime_core::Timestamp;
use meantime_kernel::history::By;
use meantime_kernel::store::{Error, OperationKind, OperationRow, Page};
use rusqlite::params;

use super::db::{Db, int};

const TABLE: &str = "operation";

const ADD: &str = "INSERT INTO operation (happened_at, kind, actor, reason) \
     VALUES (?1, ?2, ?3, ?4)";
const LIST: &str = "SELECT number, happened_at, kind, actor, reason FROM operation \
     WHERE number > ?1 ORDER BY number";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[ADD, LIST];

pub(super) fn add(db: &Db<'_>, kind: OperationKind, at: Timestamp, by: &By) -> Result<(), Error> {
    db.run(ADD, params![at.as_millis(), kind.name(), by.actor, by.reason]).map(drop)
}

/// A page, oldest first.
pub(super) fn list(db: &Db<'_>, page: Page<u64>) -> Result<Vec<OperationRow>, Error> {
    let known = |bytes: &[u8]| {
        let name = std::str::from_utf8(bytes).ok();
        name.and_then(OperationKind::from_name).ok_or("unknown kind")
    };
    db.some(LIST, [int(page.after.unwrap_or_default())], page.limit, |row| {
        Ok(Some(OperationRow {
            number: row.number(0)?,
            at: row.instant(1, TABLE)?,
            kind: row.parsed(2, TABLE, known)?,
            by: By { actor: row.get(3)?, reason: row.get(4)? },
        }))
    })
}
