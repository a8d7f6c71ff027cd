//! The conformance suite: the semantics of a store, as cases that every store passes.
//!
//! Cases are grouped by entity, and each gets an empty store. They are part of the library, not of
//! a test, so that stores in other crates can be checked too.

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
mod search;
mod suite;
mod task;
mod timer;
mod upkeep;

pub use bench::block_on;
pub use suite::{Case, cases, exercise};
