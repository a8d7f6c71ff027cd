//! Conversions between kinds of values.

use meantime_value::json::{self, Layout};
use meantime_value::{Number, Value};

use crate::eval::{Evaluator, temporal};
use crate::foreign::interval;
use crate::problem::EvaluationError;

/// The largest JSON text that an expression may create.
const MAX_JSON_BYTES: usize = 1 << 20;

/// `number("1 000,5", " ", ",")`
pub(super) fn number(values: &[Value]) -> Option<Value> {
    let (text, grouping, decimal) = match values {
        [Value::Number(number)] => return Some(Value::Number(number.clone())),
        [Value::Text(text)] => (text, "", "."),
        [Value::Text(text), grouping] => (text, separator(grouping)?, "."),
        [Value::Text(text), grouping, decimal] => {
            let decimal = separator(decimal)?;
            (text, separator(grouping)?, if decimal.is_empty() { "." } else { decimal })
        }
        _ => return None,
    };
    let known = matches!(grouping, "" | " " | "," | ".") && matches!(decimal, "." | ",");
    if !known || grouping == decimal {
        return None;
    }
    let text = if grouping.is_empty() { text.to_string() } else { text.replace(grouping, "") };
    let text = text.replace(decimal, ".");
    text.parse::<Number>().ok().map(Value::Number)
}

fn separator(value: &Value) -> Option<&str> {
    match value {
        Value::Null => Some(""),
        Value::Text(text) => Some(text),
        _ => None,
    }
}

pub(super) fn string(
    evaluator: &mut Evaluator<'_>,
    values: &[Value],
) -> Result<Option<Value>, EvaluationError> {
    Ok(match values {
        [Value::Null] => Some(Value::Null),
        [Value::Text(text)] => Some(Value::Text(text.clone())),
        [value] => {
            evaluator.charge_passed_value(value)?;
            Some(Value::from(display(value)))
        }
        _ => None,
    })
}

/// A value as FEEL would write it.
pub(crate) fn display(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => plain_number(number),
        Value::Text(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(display).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let entries: Vec<String> = object
                .entries()
                .iter()
                .map(|entry| format!("{}:{}", key(entry.key.name()), display(&entry.value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => match (temporal::written(other, true), interval(other)) {
            (Some(text), _) => text,
            (None, Some(it)) => {
                let open = if it.start_included { '[' } else { '(' };
                let close = if it.end_included { ']' } else { ')' };
                format!("{open}{}..{}{close}", display(&it.start), display(&it.end))
            }
            (None, None) => "function".to_owned(),
        },
    }
}

/// A text as it is written in an expression.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The key of a context: a name unchanged, anything else quoted.
fn key(name: &str) -> String {
    let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_name = begins && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_name { name.to_owned() } else { quoted(name) }
}

/// A number without an exponent.
fn plain_number(number: &Number) -> String {
    json::write(&Value::Number(number.clone()), Layout::Compact, MAX_JSON_BYTES).unwrap_or_default()
}

pub(super) fn to_json(
    evaluator: &mut Evaluator<'_>,
    values: &[Value],
) -> Result<Option<Value>, EvaluationError> {
    let [value] = values else { return Ok(None) };
    evaluator.charge_passed_value(value)?;
    let Ok(plain) = crate::to_json(value) else { return Ok(None) };
    Ok(json::write(&plain, Layout::Compact, MAX_JSON_BYTES).ok().map(Value::from))
}

pub(super) fn from_json(values: &[Value]) -> Option<Value> {
    let [Value::Text(text)] = values else { return None };
    json::read(text).ok()
}
