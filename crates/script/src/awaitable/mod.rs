//! Awaitables: effects that were started, and combinations of them.
//!
//! A *leaf* stands for one effect. A *combinator* settles when the event of the deciding member is
//! handled, not when the script reads it. So of two events in one turn the first decides (T10), and
//! losers are cancelled before a later event can reach them (F2).

mod cancel;
mod combine;
mod leaf;
mod outcome;
mod settle;

pub(crate) use combine::{COMBINATOR_MODES, Combinator, CombinatorMode};
pub(crate) use leaf::{Awaitable, AwaitableState, Kind, Leaf, LocalEffectKey};
