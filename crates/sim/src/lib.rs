//! Simulation: the probe notation, scenarios as text, the crash harness, the seeded simulator, the
//! rigs that kill processes and cut the power, and the checkers of their results (never published).

pub mod audit;
pub mod checker;
pub mod harness;
pub mod kill;
pub mod power;
pub mod probe;
pub mod scenario;
pub mod simulation;
