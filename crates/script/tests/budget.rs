//! Every computation has a budget: `budget/hostile.txt` holds hostile scripts, and the error with
//! which each of them ends under the limits of the product.

use meantime_core::{Json, Limits, Timestamp};
use meantime_script::{EmbeddedEnvironment, compile_embedded};

#[path = "../../core/tests/budget/hostile.rs"]
mod hostile;

fn code_of(text: &str) -> String {
    let embedded = match compile_embedded(text) {
        Ok(embedded) => embedded,
        Err(problems) => return format!("{problems:?}"),
    };
    let limits = Limits::default();
    let around = EmbeddedEnvironment {
        now: Timestamp::from_millis(0),
        key: None,
        ops: limits.ops_runaway / 10,
    };
    match embedded.run(&|_| None::<Json>, &around, &limits).0 {
        Ok(_) => "no failure".to_owned(),
        Err(failure) => failure.code,
    }
}

#[test]
fn no_script_outruns_its_budget() {
    hostile::check(include_str!("budget/hostile.txt"), code_of);
}
