//! Operations on the store as a whole.

use meantime_core::Timestamp;
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{Error, OperationKind, OperationRow, Page};
use rusqlite::params;

use super::db::Db;
use crate::row::int;
use crate::row::operation::{columns, read};

const ADD: &str = "INSERT INTO operation (happened_at, kind, actor, reason) \
     VALUES (?1, ?2, ?3, ?4)";
const LIST: &str =
    concat!("SELECT ", columns!(), " FROM operation WHERE number > ?1 ORDER BY number");

#[cfg(test)]
pub(super) const ALL: &[&str] = &[ADD, LIST];

pub(super) fn add(
    db: &Db<'_>,
    kind: OperationKind,
    at: Timestamp,
    audit: &AuditInfo,
) -> Result<(), Error> {
    db.run(ADD, params![at.as_millis(), kind.name(), audit.actor, audit.reason]).map(drop)
}

/// A page, oldest first.
pub(super) fn list(db: &Db<'_>, page: Page<u64>) -> Result<Vec<OperationRow>, Error> {
    let after = int(page.after.unwrap_or_default());
    db.some(LIST, [after], page.limit, |row| read(row).map(Some))
}
