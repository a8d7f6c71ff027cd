//! Serial numbers in payloads: every payload that is sent has a unique number, so that checkers
//! recognise it.

use meantime_core::Json;

/// The serial number of a payload, if it has one: a bare number, or the field of a step.
pub fn payload_serial(payload: &Json) -> Option<u64> {
    payload.as_str().parse().ok()
}
