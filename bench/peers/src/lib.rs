//! A load generator for engines behind HTTP, and a worker for ours.
//!
//! Every engine gets the same callers: they know an address, a request, and what its answer must
//! contain. Nothing here is shipped, and nothing depends on the crates of the engine.

pub mod callers;
pub mod connection;
pub mod process_tree;
pub mod sample;
pub mod worker;
