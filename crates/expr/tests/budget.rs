//! Every computation has a budget: `budget/hostile.txt` holds expressions that mean harm, and the
//! error that each of them ends with, under the limits of the product.

use std::fmt::Write as _;

use meantime_core::{Json, Limits, Timestamp};
use meantime_expr::dataweave::{EvalContext, EvalLimits, Script};
use meantime_expr::feel;
use meantime_expr::script::{EmbeddedEnvironment, compile_embedded};

const HOSTILE: &str = include_str!("budget/hostile.txt");

/// What one expression of a journey or process may use.
const OPS: u64 = 1_000_000;

fn check(language: &str, code_of: fn(&str) -> String) {
    let mut wrong = String::new();
    let lines = HOSTILE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let mut parts = line.splitn(3, ' ');
        let (Some(of), Some(code), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            panic!("{line}");
        };
        if of != language {
            continue;
        }
        count += 1;
        let found = code_of(&expand(text));
        if found != code {
            let _ = writeln!(wrong, "{text}\n  wanted {code}, found {found:.300}");
        }
    }
    assert!(wrong.is_empty() && count > 0, "\n{wrong}");
}

/// `@3*x@` is `xxx`.
fn expand(text: &str) -> String {
    let mut parts = text.split('@');
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let (Some(inner), Some(after)) = (parts.next(), parts.next()) {
        let (count, what) = inner.split_once('*').expect("a number and what is repeated");
        out.push_str(&what.repeat(count.parse().expect("a number")));
        out.push_str(after);
    }
    out
}

fn dataweave(text: &str) -> String {
    let limits = EvalLimits {
        ops: OPS,
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

fn feel(text: &str) -> String {
    let program = match feel::compile(text) {
        Ok(program) => program,
        Err(problem) => return problem.to_string(),
    };
    let environment = feel::Environment { now: Some(Timestamp::from_millis(0)), ops: OPS, seed: 1 };
    match program.evaluate(&|_| None, &environment).value {
        Ok(value) => format!("no failure but {value:.200?}"),
        Err(error) => error.code().to_owned(),
    }
}

fn script(text: &str) -> String {
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
fn no_dataweave_outruns_its_budget() {
    check("dataweave", dataweave);
}

#[test]
fn no_feel_outruns_its_budget() {
    check("feel", feel);
}

#[test]
fn no_script_outruns_its_budget() {
    check("script", script);
}

/// A chain of a hundred thousand names frees itself one by one, not one inside the other.
#[test]
fn a_long_context_is_freed() {
    let mut text = "{".to_owned();
    for index in 0..20_000 {
        let _ = write!(text, "k{index}: 1, ");
    }
    text.push_str("last: 2}.last");
    assert!(feel(&text).starts_with("no failure") || feel(&text) == "expression_too_long");
}
