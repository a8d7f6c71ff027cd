//! Numbers of the format. They are never reused for another meaning.

use crate::host::EffectKind;

/// The number of the format that is written. Format 2 has classes and objects of the library, and
/// errors are objects of their class. Format 3 has promises, coroutines and jobs.
pub const FORMAT: u16 = 3;

/// The oldest format that can be read.
const OLDEST_FORMAT: u16 = 1;

/// Whether this release reads a format.
pub fn reads_format(format: u16) -> bool {
    (OLDEST_FORMAT..=FORMAT).contains(&format)
}

/// CBOR tags of values that CBOR does not have.
pub(super) const LIST: u64 = 6;
pub(super) const RECORD: u64 = 7;
pub(super) const FUNCTION: u64 = 8;
pub(super) const CELL: u64 = 9;
pub(super) const AWAITABLE: u64 = 10;
/// A string that occurred before, by its number among the shared strings.
pub(super) const SHARED: u64 = 11;
pub(super) const VERBATIM: u64 = 12;
pub(super) const BUILTIN: u64 = 13;

/// A getter and a setter, in place of the value of a property.
pub(super) const ACCESSOR: u64 = 14;
/// A list with properties besides its elements; the object that holds them comes first.
pub(super) const LIST_WITH_PROPERTIES: u64 = 15;

/// An awaitable with the reactions to its end, which come first.
pub(super) const WITH_REACTIONS: u64 = 16;
/// A function that the machine performs.
pub(super) const NATIVE: u64 = 17;

/// Kinds of objects of library classes.
pub(super) const ERROR_OBJECT: u64 = 1;
pub(super) const MAP_OBJECT: u64 = 2;
pub(super) const SET_OBJECT: u64 = 3;
pub(super) const DATE_OBJECT: u64 = 4;
pub(super) const REGEX_OBJECT: u64 = 5;
pub(super) const ITERATOR_OBJECT: u64 = 6;

/// Shorter strings are not shared but written again.
pub(super) const MIN_SHARED_BYTES: usize = 3;

/// States of an awaitable.
pub(super) const PENDING: u64 = 0;
pub(super) const RAW: u64 = 1;
pub(super) const DONE: u64 = 2;
pub(super) const FAILED: u64 = 3;
pub(super) const CANCELLED: u64 = 4;

/// The first number of an awaitable: eight times its kind, plus its state.
pub(super) const STATE_FACTOR: u64 = 8;
/// Combinators are numbered after the kinds of leaves.
pub(super) const FIRST_COMBINATOR: u64 = 8;
/// Promises are numbered after the combinators.
pub(super) const PROMISE: u64 = 16;

/// Kinds of frames.
pub(super) const SCRIPT_FRAME: u64 = 0;
pub(super) const ITERATION_FRAME: u64 = 1;
pub(super) const SORT_FRAME: u64 = 2;
pub(super) const STRINGIFY_FRAME: u64 = 3;
pub(super) const COROUTINE_FRAME: u64 = 4;

/// Kinds of leaves, by number.
pub(super) const EFFECT_KINDS: [EffectKind; 5] =
    [EffectKind::Task, EffectKind::Timer, EffectKind::Signal, EffectKind::Child, EffectKind::Http];

pub(super) fn what_number(what: EffectKind) -> u64 {
    let index = EFFECT_KINDS.iter().position(|known| *known == what);
    index.and_then(|it| u64::try_from(it).ok()).unwrap_or_default()
}
