//! What is counted and logged: requests here, and what the engine counts of itself.

mod engine;
mod request;

pub(crate) use request::{Metrics, observe};
