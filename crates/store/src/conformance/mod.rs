//! The conformance suite: what a store means, as cases that every store passes.
//!
//! Cases are grouped by entity and get an empty store each. They are code of the library, not of a
//! test, so that a store that lives elsewhere can be held to them too.

mod bench;
mod channel;
mod child;
mod definition;
mod history;
mod inbox;
mod incident;
mod instance;
mod purge;
mod read;
mod request;
mod suite;
mod task;
mod timer;
mod upkeep;

pub use bench::block_on;
pub use suite::{Case, cases, exercise};
