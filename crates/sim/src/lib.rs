//! Simulation: the probe notation, scenarios as text, the crash harness, whole worlds from a seed,
//! the rigs that kill processes and cut the power, and the checkers of what comes out (never
//! published).

pub mod audit;
pub mod checker;
pub mod harness;
pub mod kill;
pub mod power;
pub mod probe;
pub mod scenario;
pub mod simulation;
