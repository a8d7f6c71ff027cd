//! Message ids that were seen.

use meantime_core::Timestamp;
use meantime_kernel::store::Error;
use rusqlite::params;

use super::db::Db;

const PUT: &str = "INSERT OR REPLACE INTO message_id (id, expires_at) VALUES (?1, ?2)";
const IS_KNOWN: &str = "SELECT 1 FROM message_id WHERE id = ?1 AND expires_at > ?2";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, IS_KNOWN];

pub(super) fn put(db: &Db<'_>, id: &str, expires_at: Timestamp) -> Result<(), Error> {
    db.run(PUT, params![id, expires_at.as_millis()]).map(drop)
}

/// Whether the id was seen and has not expired.
pub(super) fn is_known(db: &Db<'_>, id: &str, now: Timestamp) -> Result<bool, Error> {
    Ok(db.first(IS_KNOWN, params![id, now.as_millis()], |_| Ok(()))?.is_some())
}
