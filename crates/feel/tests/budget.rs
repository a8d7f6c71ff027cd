//! Every computation has a budget: `budget/hostile.txt` holds hostile expressions, and the error
//! with which each of them ends under the limits of the product.

use std::fmt::Write as _;

use meantime_core::Timestamp;
use meantime_feel::{Environment, compile};

#[path = "../../core/tests/budget/hostile.rs"]
mod hostile;

/// The budget of one expression of a process.
const OPS: u64 = 1_000_000;

fn code_of(text: &str) -> String {
    let program = match compile(text) {
        Ok(program) => program,
        Err(problem) => return problem.to_string(),
    };
    let environment = Environment { now: Some(Timestamp::from_millis(0)), ops: OPS, seed: 1 };
    match program.evaluate(&|_| None, &environment).value {
        Ok(value) => format!("no failure but {value:.200?}"),
        Err(error) => error.code().to_owned(),
    }
}

#[test]
fn no_feel_outruns_its_budget() {
    hostile::check(include_str!("budget/hostile.txt"), code_of);
}

/// A chain of a hundred thousand names is freed iteratively, not recursively.
#[test]
fn a_long_context_is_freed() {
    let mut text = "{".to_owned();
    for index in 0..20_000 {
        let _ = write!(text, "k{index}: 1, ");
    }
    text.push_str("last: 2}.last");
    assert!(code_of(&text).starts_with("no failure") || code_of(&text) == "expression_too_long");
}
