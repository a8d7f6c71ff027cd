//! One case: its input, and what came of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::mutate;
use crate::random::Random;
use crate::target::Target;

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
