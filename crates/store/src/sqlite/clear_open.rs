//! Everything that is open for an instance whose own list of it cannot be decoded.

use meantime_core::InstanceId;
use meantime_kernel::store::Error;

use super::db::Db;
use crate::row::{ord, random};

/// Timers and subscriptions have no index by instance: their tables are looked through. Nobody does
/// that but those who cancel a damaged instance.
const CLEAR: &[&str] = &[
    "DELETE FROM timer WHERE ord = ?1 AND random = ?2",
    "DELETE FROM task WHERE ord = ?1 AND random = ?2",
    "DELETE FROM subscription WHERE ord = ?1 AND random = ?2",
    "DELETE FROM inbox WHERE ord = ?1 AND random = ?2",
];

pub(super) fn clear(db: &Db<'_>, id: InstanceId) -> Result<(), Error> {
    CLEAR.iter().try_for_each(|sql| db.run(sql, [ord(id), random(id)]).map(drop))
}
