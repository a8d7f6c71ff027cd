//! The in-memory store, for tests, simulation and temporary runs: the same semantics without
//! durability.

mod lock;
mod nodes;
mod search;
mod tables;
mod trait_impl;
mod upkeep;

pub use trait_impl::MemoryStore;
