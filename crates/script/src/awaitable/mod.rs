//! Awaitables: what was started and has not ended, and combinations of them.
//!
//! A *leaf* stands for one effect. A *combinator* settles by its members, at the moment at which
//! the event of the deciding member is taken, not when somebody looks: so of two events in one turn
//! the first decides (T10), and losers are cancelled before a later event could reach them (F2).

mod cancel;
mod combine;
mod leaf;
mod outcome;
mod settle;

pub(crate) use combine::{COMBINATOR_MODES, Combinator, CombinatorMode};
pub(crate) use leaf::{Awaitable, AwaitableState, Kind, Leaf, LocalEffectKey};
