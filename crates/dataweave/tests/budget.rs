//! Every computation has a budget: `budget/hostile.txt` holds hostile expressions, and the error
//! with which each of them ends under the limits of the product.

use meantime_core::Timestamp;
use meantime_dataweave::{EvalContext, EvalLimits, Script};

#[path = "../../core/tests/budget/hostile.rs"]
mod hostile;

fn code_of(text: &str) -> String {
    let limits = EvalLimits {
        // The budget of one expression of a journey or process.
        ops: 1_000_000,
        bytes: 64 << 20,
        text_bytes: 4 << 20,
        calls: 256,
        output_bytes: 1 << 20,
    };
    let context = EvalContext { now: Timestamp::from_millis(0), seed: 7, limits };
    let compilation = Script::compile(text, &[]);
    let Some(script) = compilation.script else { return format!("{:?}", compilation.diagnostics) };
    match script.evaluate_to_json(Vec::new(), &context) {
        Ok(json) => format!("no failure but {json:.200}"),
        Err(error) => error.code().to_owned(),
    }
}

#[test]
fn no_dataweave_outruns_its_budget() {
    hostile::check(include_str!("budget/hostile.txt"), code_of);
}
