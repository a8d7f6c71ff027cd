//! The baselines on SQLite: one connection with the engine's settings.

mod appended;
mod file;
mod random;

pub(crate) use appended::{Appended, GROUP};
pub(crate) use random::Random;
