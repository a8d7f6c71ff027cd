//! Generated input for everything that reads what others wrote: parsers, evaluators, decoders and
//! formatters of the pure crates (never published).
//!
//! A case is made from a seed and a number, so a failure is named by both and can be played again.
//! There is no feedback from coverage: cases are mutations of texts that are known to go far,
//! with words of the languages in them. A target fails by a panic, which is caught and told, or by
//! what the process does not survive, such as a stack that is used up.

mod case_random;
mod mutate;
mod notation;
mod run_case;
mod seed_inputs;
mod target;

pub use case_random::CaseRandom;
pub use run_case::{CaseFailure, case_input, run_case};
pub use target::{TARGETS, Target};
