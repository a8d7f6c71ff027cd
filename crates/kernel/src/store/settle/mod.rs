//! Settling a plan: the conditional parts, decided inside the transaction by pure code.
//!
//! Every store does the same three things: fetch what [`Plan::lookups`] asks for, call
//! [`Plan::settle`] with a function that tries a guard, and write the rows it gets back. So a
//! publish and a subscribe of two nodes meet here, under the store's locks, and cannot miss each
//! other.

mod channel;
mod child;
mod definition;
mod found;
mod schedule;
mod unit;

pub use definition::BROADCAST_STARTS;
pub use found::{Channel, DefinitionHead, Found};
pub use schedule::timer_start_tag;
pub use unit::Settled;
