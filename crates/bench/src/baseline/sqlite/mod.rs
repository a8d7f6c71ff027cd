//! The baselines on SQLite: one connection with the engine's settings.

mod appended;
mod file;
mod random;

pub(crate) use appended::{AppendBaseline, GROUP_SIZE};
pub(crate) use random::RandomUpdateBaseline;
