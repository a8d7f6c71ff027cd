//! Ids of instances for the unit tests of the machine.

use meantime_core::InstanceId;

/// The id with this number as its order.
pub(super) fn id(number: u64) -> InstanceId {
    InstanceId::new(number, 0)
}
