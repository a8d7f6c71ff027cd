//! Runs one case.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::case_random::CaseRandom;
use crate::mutate;
use crate::target::Target;

/// A failed case, with everything that is needed to repeat it.
#[derive(Debug)]
pub struct CaseFailure {
    /// The name of the target.
    pub target: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the case.
    pub case: u64,
    /// The generated input.
    pub input: String,
    /// The message of the panic.
    pub message: String,
}

/// The input of one case.
pub fn case_input(target: &Target, seed: u64, case: u64) -> String {
    let mut random = CaseRandom::new(seed, case);
    mutate::mutate_seed(&target.seeds(), target.words, &mut random)
}

/// Runs one case.
pub fn run_case(target: &'static Target, seed: u64, case: u64) -> Result<(), CaseFailure> {
    let mut random = CaseRandom::new(seed, case);
    let input = mutate::mutate_seed(&target.seeds(), target.words, &mut random);
    let run = AssertUnwindSafe(|| (target.run)(&input, &mut random));
    catch_unwind(run).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let message = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        let message = message.unwrap_or_else(|| "a panic without a text".to_owned());
        CaseFailure { target: target.name, seed, case, input: input.clone(), message }
    })
}
