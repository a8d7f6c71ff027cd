//! Deletes everything open of an instance whose own open list cannot be decoded.

use meantime_core::InstanceId;
use meantime_kernel::store::Error;

use super::db::Db;
use crate::row::{id_order, id_random};

/// Timers and subscriptions have no index by instance, so their tables are scanned. This runs only
/// when a damaged instance is cancelled.
const CLEAR: &[&str] = &[
    "DELETE FROM timer WHERE id_order = ?1 AND id_random = ?2",
    "DELETE FROM task WHERE id_order = ?1 AND id_random = ?2",
    "DELETE FROM subscription WHERE id_order = ?1 AND id_random = ?2",
    "DELETE FROM inbox WHERE id_order = ?1 AND id_random = ?2",
];

pub(super) fn clear(db: &Db<'_>, id: InstanceId) -> Result<(), Error> {
    CLEAR.iter().try_for_each(|sql| db.run(sql, [id_order(id), id_random(id)]).map(drop))
}
