//! Everything that is open for instances whose own lists of it cannot be decoded.

use meantime_core::InstanceId;

use super::connection::{Call, values};
use crate::row::id_order;

/// Timers and subscriptions have no index by instance: their tables are looked through. Nobody does
/// that but those who cancel a damaged instance.
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
