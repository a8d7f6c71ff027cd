//! Simulation: the probe notation, scenarios as text, the crash harness, whole worlds from a seed,
//! and the checkers of what comes out (never published).

pub mod checker;
pub mod harness;
pub mod probe;
pub mod scenario;
pub mod simulation;
