//! Scripts behave as in Node, or are refused: they never behave differently.
//!
//! `cargo xtask vectors flow` generates the expressions and evaluates them in Node. The tests
//! evaluate each of them as `meantime eval --lang flow` does.

use meantime_core::{Limits, Severity, Timestamp};
use meantime_script::evaluate;

/// One case per line: the expression, a tab, `=` and the value or `!` and the name of the error.
const VECTORS: &str = include_str!("node/vectors.txt");

/// The same format, for functions whose last digits the standard leaves to the implementation.
const NEAR: &str = include_str!("node/near.txt");

/// The largest difference from Node's results, in units in the last place.
const UNITS: [(&str, u64); 7] =
    [("cbrt", 1), ("cos", 1), ("exp", 1), ("log", 1), ("log10", 2), ("pow", 1), ("sin", 1)];

/// Writes a value as text, in Node and here.
const SHOW: &str = include_str!("node/show.js");

/// No more than these may be refused. A lower number is progress; a higher one is a step back.
const MAX_REFUSED: usize = 124;

/// The result of an expression in a flow script.
#[derive(Debug, PartialEq)]
enum Answer {
    Value(String),
    Throws(String),
    /// By a diagnostic at deploy, or by an error that says that the language does not support this.
    Refused(String),
}

fn answer(expression: &str) -> Answer {
    let text = format!(
        "{}; try {{ return \"=\" + show(({expression})) }} catch (e$) {{ \
         return e$?.line ? \"!\" + e$.name + \"!\" + e$.code : \"!thrown!\" }}",
        SHOW.trim_end()
    );
    let found = evaluate(&text, &[], Timestamp::default(), 7, &Limits::default());
    match found.result {
        Some(Ok(json)) => {
            let text: String = json.read().expect("a text");
            match text.strip_prefix('!').and_then(|it| it.split_once('!')) {
                Some((_, "unsupported" | "unsupported_json")) => {
                    Answer::Refused("at run time".to_owned())
                }
                Some((name, _)) => Answer::Throws(name.to_owned()),
                None => Answer::Value(text.get(1..).unwrap_or_default().to_owned()),
            }
        }
        Some(Err(failure)) => Answer::Refused(failure.code),
        None => {
            let is_error = |it: &&meantime_core::Diagnostic| it.severity == Severity::Error;
            let first = found.diagnostics.iter().find(is_error).expect("an error");
            Answer::Refused(first.code.clone())
        }
    }
}

#[test]
fn agrees_with_node() {
    let (mut agreed, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut reasons = std::collections::BTreeMap::<String, usize>::new();
    for line in VECTORS.lines() {
        let (expression, wanted) = line.rsplit_once('\t').expect("an expression and a value");
        let is_same = match (answer(expression), wanted.split_at(1)) {
            (Answer::Refused(reason), _) => {
                refused += 1;
                *reasons.entry(reason).or_default() += 1;
                continue;
            }
            (Answer::Value(value), ("=", wanted)) if value == wanted => true,
            (Answer::Throws(name), ("!", wanted)) if name == wanted => true,
            (found, _) => {
                wrong.push(format!("{expression}\n  Node  {wanted}\n  found {found:?}"));
                false
            }
        };
        agreed += usize::from(is_same);
    }
    let count = agreed + refused + wrong.len();
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 17_000, "only {count} expressions");
    assert!(refused <= MAX_REFUSED, "{refused} of {count} are refused: {reasons:?}");
}

/// How many doubles one number is away from another. Zero, infinity and NaN must be equal in both;
/// otherwise the distance is the largest possible.
fn units_between(one: &str, other: &str) -> u64 {
    let number = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_normal());
    match (number(one), number(other)) {
        _ if one == other => 0,
        (Some(one), Some(other)) => one.to_bits().abs_diff(other.to_bits()),
        _ => u64::MAX,
    }
}

#[test]
fn is_near_node() {
    let (mut same, mut count, mut wrong) = (0, 0, Vec::new());
    for line in NEAR.lines() {
        let (expression, wanted) = line.rsplit_once('\t').expect("an expression and a value");
        let wanted = wanted.strip_prefix('=').expect("a value");
        let name = expression.trim_start_matches("Math.").split('(').next();
        let units = UNITS.iter().find(|it| Some(it.0) == name).expect("a function that is open").1;
        count += 1;
        let found = answer(expression);
        let distance = match &found {
            Answer::Value(value) => units_between(value, wanted),
            _ => u64::MAX,
        };
        same += usize::from(distance == 0);
        if distance > units {
            wrong.push(format!("{expression}\n  Node  {wanted}\n  found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 1_500, "only {count} expressions");
    assert!(same * 100 >= count * 95, "only {same} of {count} are the same");
}
