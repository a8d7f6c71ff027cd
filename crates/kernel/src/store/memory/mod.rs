//! The in-memory store: for tests, simulation and ephemeral runs. Same semantics, no durability.

mod lock;
mod nodes;
mod tables;
mod trait_impl;
mod upkeep;

pub use trait_impl::MemoryStore;
