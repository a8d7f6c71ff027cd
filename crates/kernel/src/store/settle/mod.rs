//! Settling a plan: the conditional parts, decided inside the transaction by pure code.
//!
//! Every store does the same three things: fetch what [`Plan::lookups`] asks for, call
//! [`Plan::settle`] with a function that tries the fences of a unit, and write the rows it gets
//! back. So a publish and a subscribe of two nodes meet here, under the store's locks, and cannot
//! miss each other.
//!
//! [`Plan::lookups`]: crate::store::Plan::lookups
//! [`Plan::settle`]: crate::store::Plan::settle

mod channel;
mod child;
mod definition;
mod fence;
mod found;
mod schedule;
mod unit;

pub use definition::{BROADCAST_STARTS, MESSAGE_STARTS};
pub use fence::{Fenced, Fences};
pub use found::{Channel, DefinitionHead, Found, Tree};
pub(crate) use schedule::binding_tag;
pub use unit::Settled;
