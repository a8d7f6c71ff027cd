//! FEEL compared with another implementation, and internal consistency.

use meantime_core::Timestamp;
use meantime_feel::{Environment, Evaluation, compile, to_json};
use meantime_value::Value;
use meantime_value::json::{Layout, read, write};
use proptest::prelude::*;

const VECTORS: &str = include_str!("feel/vectors.jsonl");
const DIFFERENCES: &str = include_str!("feel/differences.txt");
const CASES: &str = include_str!("feel/cases.txt");

/// Evaluates with the entries of an object as variables.
fn evaluate(text: &str, variables: &Value) -> Evaluation {
    let lookup = |name: &str| match variables {
        Value::Object(object) => object.get(name).cloned(),
        _ => None,
    };
    let now = Timestamp::parse("2026-01-01T00:00:00Z").ok();
    match compile(text) {
        Ok(program) => program.evaluate(&lookup, &Environment { now, ops: 100_000, seed: 7 }),
        Err(problem) => {
            Evaluation { value: Ok(Value::Null), ops: 0, reason: Some(problem.to_string()) }
        }
    }
}

/// The result as JSON, or `!` if it cannot be written as JSON, and the reason if it is null.
fn answer(text: &str, variables: &Value) -> (String, Option<String>) {
    let evaluated = evaluate(text, variables);
    let value = evaluated.value.unwrap_or_else(|error| Value::from(error.to_string()));
    let json = to_json(&value).ok().and_then(|it| write(&it, Layout::Compact, 1 << 20).ok());
    (json.unwrap_or_else(|| "!".to_owned()), evaluated.reason)
}

fn variables() -> Value {
    let line = CASES.lines().find_map(|line| line.strip_prefix("@ ")).unwrap_or("{}");
    read(line).expect("the variables are JSON")
}

fn check(cases: impl Iterator<Item = (String, Value, String)>) {
    let mut wrong = Vec::new();
    for (expression, variables, expected) in cases {
        let (found, reason) = answer(&expression, &variables);
        // The same number may be written in several ways.
        let same = found == expected || read(&found).ok() == read(&expected).ok();
        if !same || (found == "!") != (expected == "!") {
            let reason = reason.unwrap_or_default();
            wrong.push(format!("{expression}\n  expected {expected}\n  found    {found} {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn answers_are_those_of_feelin() {
    check(VECTORS.lines().map(|line| {
        let Ok(Value::Object(case)) = read(line) else { panic!("not a case: {line}") };
        let part = |name: &str| case.get(name).cloned().unwrap_or_default();
        let Value::Text(expression) = part("expression") else { panic!("no expression: {line}") };
        let result = write(&part("result"), Layout::Compact, 1 << 20).unwrap_or_default();
        (expression.to_string(), part("variables"), result)
    }));
}

#[test]
fn answers_differ_where_the_standard_or_timers_want_it() {
    let variables = variables();
    let lines = DIFFERENCES.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    check(lines.map(|line| {
        let (expression, result) = line.split_once(" => ").expect("EXPRESSION => ANSWER");
        (expression.to_owned(), variables.clone(), result.to_owned())
    }));
}

#[test]
fn what_is_no_expression_is_refused_with_a_place() {
    for (text, message) in [
        ("", "expected a value instead of the end at character 1"),
        ("1 +", "expected a value instead of the end at character 4"),
        ("(1", "expected `)` instead of the end at character 3"),
        ("a b", "`b` is too much at character 3"),
        ("'x'", "`'` has no meaning here at character 1"),
        ("\"x", "a text does not end at character 1"),
        ("if a then b", "expected `else` instead of the end at character 12"),
        ("@\"x\"", "the text after @ is no date, time or duration at character 1"),
    ] {
        let problem = compile(text).expect_err(text);
        assert_eq!(problem.to_string(), message, "{text}");
    }
}

/// Variables are never functions, so a call of an unknown name is an error.
#[test]
fn unknown_functions_are_refused() {
    for (text, message) in [
        ("1 + totl(list)", "there is no function `totl` at character 5"),
        ("for x in list return f(x)", "there is no function `f` at character 22"),
        ("`my function`(1)", "there is no function `my function` at character 1"),
    ] {
        let problem = compile(text).expect_err(text);
        assert_eq!(problem.to_string(), message, "{text}");
        assert!(problem.help().is_some(), "{text}");
    }
    for text in ["{f: function(x) x, y: f(1)}.y", "for f in [function(x) x] return f(1)"] {
        assert!(compile(text).is_ok(), "{text}");
    }
}

/// `assert` gives its value, or ends the evaluation with its message.
#[test]
fn an_assertion_that_does_not_hold_ends_the_evaluation() {
    for (text, message) in [
        ("assert(1, 1 > 2)", "the condition is not fulfilled"),
        ("assert(1, null, \"no amount\")", "no amount"),
        ("assert(value: missing, condition: missing != null)", "the condition is not fulfilled"),
    ] {
        let error = evaluate(text, &variables()).value.expect_err(text);
        assert_eq!((error.code(), error.to_string().as_str()), ("assertion_failed", message));
    }
}

/// Random bits are an input, so the same seed gives the same values.
#[test]
fn random_values_follow_from_their_seed() {
    let with = |text: &str, seed: u64| {
        let environment = Environment { now: None, ops: 1_000, seed };
        compile(text).expect(text).evaluate(&|_| None, &environment).value.expect(text)
    };
    for text in ["uuid()", "random number()"] {
        assert_eq!(with(text, 1), with(text, 1));
        assert_ne!(with(text, 1), with(text, 2));
    }
    assert_ne!(with("[uuid(), uuid()][1]", 1), with("[uuid(), uuid()][2]", 1));
}

#[test]
fn null_says_why() {
    for (text, reason) in [
        ("missing > 1", "there is no variable `missing`"),
        ("name + 1", "Add of a text and a number makes no sense"),
        ("foo(1)", "there is no function `foo` at character 1"),
        ("date", "there is no variable `date`"),
        ("sum(\"x\")", "wrong arguments of `sum`"),
        ("list[9]", "a list of 4 has no item 9"),
        ("order.weight", "a context has no `weight`"),
    ] {
        assert_eq!(evaluate(text, &variables()).reason.as_deref(), Some(reason), "{text}");
    }
}

#[test]
fn a_budget_ends_what_takes_too_long() {
    let (text, _) = answer("count(for x in 1..1000, y in 1..1000 return x * y)", &Value::Null);
    assert_eq!(text, "\"the expression takes too long\"");
    let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(compile(&deep).is_err());
    let (text, _) = answer("{f: function(x) f(x + 1), r: f(1)}.r", &Value::Null);
    assert_eq!(text, "null");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~éλ]{0,60}") {
        if let Ok(program) = compile(&text) {
            let environment = Environment { now: None, ops: 10_000, seed: 7 };
            let _ = program.evaluate(&|_| None, &environment);
        }
    }

    #[test]
    fn whole_numbers_are_added_exactly(
        left in -1_000_000_000_i64..1_000_000_000,
        right in any::<i32>(),
    ) {
        let (text, _) = answer(&format!("({left}) + ({right})"), &Value::Null);
        prop_assert_eq!(text, (left + i64::from(right)).to_string());
    }
}
