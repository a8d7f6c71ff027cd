//! JSON values as YAML 1.2, in block style.

use serde_json::Value;

/// A value as a YAML document.
pub(crate) fn render(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let mut text = String::new();
            for (name, value) in members {
                text.push_str(&scalar(name));
                text.push(':');
                text.push_str(&nested(value));
            }
            text
        }
        Value::Array(items) if !items.is_empty() => items.iter().map(item).collect(),
        other => format!("{}\n", plain(other)),
    }
}

/// The value of a member: on the same line, or indented below it.
fn nested(value: &Value) -> String {
    if is_block(value) {
        format!("\n{}", indented(value, "  "))
    } else {
        format!(" {}\n", plain(value))
    }
}

fn item(value: &Value) -> String {
    if is_block(value) {
        // The first line follows the dash.
        format!("- {}", &indented(value, "  ")[2..])
    } else {
        format!("- {}\n", plain(value))
    }
}

fn indented(value: &Value, indent: &str) -> String {
    render(value).lines().flat_map(|line| [indent, line, "\n"]).collect()
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// A value on one line.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        // Empty containers, numbers, booleans and null are written as in JSON.
        other => other.to_string(),
    }
}

/// A text without quotes if every reader takes it for a text; otherwise as in JSON, which is YAML.
fn scalar(text: &str) -> String {
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let follows = |it: char| it.is_ascii_alphanumeric() || "-_./".contains(it);
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let is_word = words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if begins && text.chars().all(follows) && !is_word {
        return text.to_owned();
    }
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::render;

    #[test]
    fn values_are_written_in_blocks() {
        let value = json!({
            "id": "in_1", "no": false, "count": 7, "empty": [], "none": null,
            "tags": ["a", "2026-01-01", "yes"],
            "waitingFor": [{"kind": "timer", "deep": {"a": [[1, 2], {}]}}, {"kind": "step"}],
        });
        let expected = "\
count: 7
empty: []
id: in_1
\"no\": false
none: null
tags:
  - a
  - \"2026-01-01\"
  - \"yes\"
waitingFor:
  - deep:
      a:
        - - 1
          - 2
        - {}
    kind: timer
  - kind: step
";
        assert_eq!(render(&value), expected);
    }

    #[test]
    fn texts_that_other_readers_take_for_something_else_are_quoted() {
        for text in ["", "1", "-", "a: b", "a #b", "Null", "~", "0x1", "a\nb", " a", "ü"] {
            assert_eq!(render(&json!(text)), format!("{}\n", json!(text)));
        }
        assert_eq!(render(&json!("order-7")), "order-7\n");
    }
}
