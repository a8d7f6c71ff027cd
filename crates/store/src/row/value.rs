//! Single values as databases store them.

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::store::Error;

/// A number as databases store it. Counters stay far below 2^63; random parts use every bit and
/// keep it.
pub(crate) const fn int(number: u64) -> i64 {
    number.cast_signed()
}

/// The first part of an id.
pub(crate) const fn id_order(id: InstanceId) -> i64 {
    int(id.order())
}

/// The second part of an id.
pub(crate) const fn id_random(id: InstanceId) -> i64 {
    int(id.random())
}

/// Packs a value. Encoding into a Vec cannot fail.
pub(crate) fn packed<T: minicbor::Encode<()>>(value: &T) -> Vec<u8> {
    minicbor::to_vec(value).unwrap_or_default()
}

pub(crate) fn millis(instant: Option<Timestamp>) -> Option<i64> {
    instant.map(Timestamp::as_millis)
}

/// The error for a stored value that cannot be decoded.
pub(crate) fn damaged(table: &str, what: impl std::fmt::Display) -> Error {
    Error::DamagedRow(format!("a row of `{table}` cannot be read: {what}"))
}
