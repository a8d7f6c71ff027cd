//! Numbers of the format. None of them is ever used for anything else.

use crate::script::host::What;

/// The number of this format.
pub const FORMAT: u16 = 1;

/// CBOR tags of values that CBOR does not have.
pub(super) const LIST: u64 = 6;
pub(super) const RECORD: u64 = 7;
pub(super) const FUNCTION: u64 = 8;
pub(super) const CELL: u64 = 9;
pub(super) const AWAITABLE: u64 = 10;
/// A string that occurred before, by its number among those that are long enough.
pub(super) const SHARED: u64 = 11;
pub(super) const VERBATIM: u64 = 12;
pub(super) const BUILTIN: u64 = 13;

/// Shorter strings are written again each time.
pub(super) const SHORTEST_SHARED: usize = 3;

/// States of an awaitable.
pub(super) const PENDING: u64 = 0;
pub(super) const RAW: u64 = 1;
pub(super) const DONE: u64 = 2;
pub(super) const FAILED: u64 = 3;
pub(super) const WITHDRAWN: u64 = 4;

/// The first number of an awaitable: eight times what it is, plus its state.
pub(super) const STATES: u64 = 8;
/// Combinators come behind the kinds of leaves.
pub(super) const COMBINATORS: u64 = 8;

/// Kinds of frames.
pub(super) const SCRIPT_FRAME: u64 = 0;
pub(super) const ITERATION_FRAME: u64 = 1;
pub(super) const SORT_FRAME: u64 = 2;
pub(super) const STRINGIFY_FRAME: u64 = 3;

/// Kinds of leaves, by number.
pub(super) const WHATS: [What; 5] =
    [What::Task, What::Timer, What::Signal, What::Child, What::Http];

pub(super) fn what_number(what: What) -> u64 {
    let place = WHATS.iter().position(|known| *known == what);
    place.and_then(|it| u64::try_from(it).ok()).unwrap_or_default()
}
