//! Deletes everything open of instances whose own open lists cannot be decoded.

use meantime_core::InstanceId;

use super::connection::{Call, values};
use crate::row::id_order;

/// Timers and subscriptions have no index by instance, so their tables are scanned. This runs only
/// when a damaged instance is cancelled.
const CLEAR: [&str; 4] = [
    "DELETE FROM timer WHERE id_order = ANY ($1::bigint[])",
    "DELETE FROM task WHERE id_order = ANY ($1::bigint[])",
    "DELETE FROM subscription WHERE id_order = ANY ($1::bigint[])",
    "DELETE FROM inbox WHERE id_order = ANY ($1::bigint[])",
];

pub(super) fn clear<'a>(instances: &[InstanceId]) -> Vec<Call<'a>> {
    let orders: Vec<i64> = instances.iter().copied().map(id_order).collect();
    CLEAR.into_iter().map(|sql| Call::new(sql, values![orders.clone()])).collect()
}
