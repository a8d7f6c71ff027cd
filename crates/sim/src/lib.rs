//! Simulation: the probe notation, scenarios as text, and the crash harness (never published).

pub mod harness;
pub mod probe;
pub mod scenario;
