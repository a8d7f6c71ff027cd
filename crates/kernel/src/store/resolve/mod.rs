//! Resolving a plan: its conditional writes are decided inside the transaction, by pure code.
//!
//! Every store does the same three things: it reads what [`Plan::lookups`] names, calls
//! [`Plan::resolve`] with a function that tries the fence of a unit, and writes the rows that it
//! returns. So a publish and a subscribe of two nodes meet here, under the locks of the store, and
//! cannot miss each other.
//!
//! [`Plan::lookups`]: crate::store::Plan::lookups
//! [`Plan::resolve`]: crate::store::Plan::resolve

mod channel;
mod child;
mod definition;
mod fence;
mod schedule;
mod snapshot;
mod unit;

pub use definition::{BROADCAST_STARTS, MESSAGE_STARTS};
pub use fence::{Fenced, Fences};
pub(crate) use schedule::binding_tag;
pub use snapshot::{Channel, DefinitionHead, Snapshot, Tree};
pub use unit::ResolvedPlan;
