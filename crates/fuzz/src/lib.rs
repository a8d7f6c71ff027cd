//! Generated input for parsers, evaluators, decoders and formatters: everything that reads what
//! others wrote (never published).
//!
//! A case is made from a seed and a number, so a failure can be repeated with both. There is no
//! feedback from coverage: cases are mutations of texts that reach deep code, with words of the
//! languages inserted. A target fails by a panic, which is caught and reported, or by ending the
//! process, for example with a stack overflow.

mod case_random;
mod mutate;
mod notation;
mod request;
mod run_case;
mod seed_inputs;
mod stored;
mod surface;
mod target;

pub use case_random::CaseRandom;
pub use run_case::{CaseFailure, case_input, run_case};
pub use target::{TARGETS, Target};
