//! Settling a plan: the conditional parts, decided inside the transaction by pure code.
//!
//! Every store does the same three things: fetch what [`Plan::lookups`] asks for, call
//! [`Plan::resolve`] with a function that tries the fences of a unit, and write the rows it gets
//! back. So a publish and a subscribe of two nodes meet here, under the store's locks, and cannot
//! miss each other.
//!
//! [`Plan::lookups`]: crate::store::Plan::lookups
//! [`Plan::resolve`]: crate::store::Plan::settle

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
