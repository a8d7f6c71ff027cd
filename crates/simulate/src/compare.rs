//! Compares what was expected with what is there.

use serde_json::Value;

/// What differs, a line each; nothing if everything expected is there. Members of objects that are
/// not expected do not count; lists have the same length.
pub(crate) fn differences(path: &str, expected: &Value, actual: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(path, expected, actual, &mut found);
    found
}

fn compare(path: &str, expected: &Value, actual: &Value, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (name, value) in expected {
                let path = format!("{path}.{name}");
                match actual.get(name) {
                    Some(actual) => compare(&path, value, actual, found),
                    None => found.push(format!("{path}: expected {value}, and it is missing")),
                }
            }
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                compare(&format!("{path}[{index}]"), expected, actual, found);
            }
        }
        (Value::Number(one), Value::Number(other)) => {
            // 1 and 1.0 are the same number.
            let same = one == other || one.as_f64().is_some_and(|it| Some(it) == other.as_f64());
            if !same {
                found.push(format!("{path}: expected {one}, got {other}"));
            }
        }
        (expected, actual) if expected == actual => {}
        (expected, actual) => found.push(format!("{path}: expected {expected}, got {actual}")),
    }
}

/// Whether all expected items occur in this order, with others between them; otherwise the first
/// that does not.
pub(crate) fn first_missing<'e>(expected: &'e [Value], actual: &[Value]) -> Option<&'e Value> {
    let mut rest = actual.iter();
    expected.iter().find(|item| !rest.any(|it| differences("", item, it).is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_may_have_more_members_and_lists_may_not() {
        let actual = json!({ "a": 1, "b": [1, { "c": "x", "d": 2 }] });
        assert!(differences("", &json!({ "b": [1.0, { "c": "x" }] }), &actual).is_empty());
        let found = differences("output", &json!({ "b": [1], "e": 1, "a": "1" }), &actual);
        assert_eq!(
            found,
            [
                "output.a: expected \"1\", got 1",
                "output.b: expected [1], got [1,{\"c\":\"x\",\"d\":2}]",
                "output.e: expected 1, and it is missing",
            ]
        );
    }

    #[test]
    fn a_sequence_may_have_others_between() {
        let actual = [json!({ "type": "a" }), json!({ "type": "b" }), json!({ "type": "c" })];
        assert_eq!(first_missing(&[json!({ "type": "a" }), json!({ "type": "c" })], &actual), None);
        let wrong = [json!({ "type": "c" }), json!({ "type": "a" })];
        assert_eq!(first_missing(&wrong, &actual), Some(&wrong[1]));
    }
}
