//! Generated input for everything that reads what others wrote: parsers, evaluators, decoders and
//! formatters of the pure crates (never published).
//!
//! A case is made from a seed and a number, so a failure is named by both and can be played again.
//! There is no feedback from coverage: cases are mutations of texts that are known to go far,
//! with words of the languages in them. A target fails by a panic, which is caught and told, or by
//! what the process does not survive, such as a stack that is used up.

mod mutate;
mod notation;
mod random;
mod seed;
mod target;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use random::Random;
pub use target::{TARGETS, Target};

/// What went wrong, and how to see it again.
#[derive(Debug)]
pub struct Failure {
    /// Which target.
    pub target: &'static str,
    /// Where the cases began.
    pub seed: u64,
    /// Which of them.
    pub case: u64,
    /// What it was given.
    pub input: String,
    /// What the panic said.
    pub message: String,
}

/// The input of one case.
pub fn input_of(target: &Target, seed: u64, case: u64) -> String {
    let mut random = Random::new(seed, case);
    mutate::mutated(&target.seeds(), target.words, &mut random)
}

/// Plays one case.
pub fn play(target: &'static Target, seed: u64, case: u64) -> Result<(), Failure> {
    let mut random = Random::new(seed, case);
    let input = mutate::mutated(&target.seeds(), target.words, &mut random);
    let run = AssertUnwindSafe(|| (target.run)(&input, &mut random));
    catch_unwind(run).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let message = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        let message = message.unwrap_or_else(|| "a panic without a text".to_owned());
        Failure { target: target.name, seed, case, input: input.clone(), message }
    })
}
