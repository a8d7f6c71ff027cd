//! Names of parameters, for calls by name, and names of types.

use meantime_value::{Kind, Value};

use crate::eval::compare::months;

/// The parameters of a function of the library, one list for each signature.
pub(crate) fn parameters(name: &str) -> &'static [&'static [&'static str]] {
    match name {
        "date" => &[&["from"], &["year", "month", "day"]],
        "time" => &[&["from"], &["hour", "minute", "second", "offset"]],
        "date and time" => &[&["from"], &["date", "time"], &["date", "timezone"]],
        "duration" | "string" | "number" => &[&["from", "grouping separator", "decimal separator"]],
        "years and months duration" => &[&["from", "to"]],
        "not" => &[&["negand"]],
        "substring" => &[&["string", "start position", "length"]],
        "string length" | "upper case" | "lower case" | "trim" | "is blank" => &[&["string"]],
        "substring before" | "substring after" | "contains" | "starts with" | "ends with" => {
            &[&["string", "match"]]
        }
        "replace" => &[&["input", "pattern", "replacement", "flags"]],
        "matches" => &[&["input", "pattern", "flags"]],
        "split" => &[&["string", "delimiter"]],
        "extract" => &[&["string", "pattern"]],
        "string join" => &[&["list", "delimiter", "prefix", "suffix"]],
        "list contains" => &[&["list", "element"]],
        "count" | "min" | "max" | "sum" | "product" | "mean" | "median" | "mode" | "stddev"
        | "all" | "any" | "reverse" | "distinct values" | "duplicate values" | "flatten"
        | "is empty" => &[&["list"]],
        "append" => &[&["list", "item"]],
        "insert before" => &[&["list", "position", "newItem"]],
        "remove" => &[&["list", "position"]],
        "list replace" => &[&["list", "position", "newItem"], &["list", "match", "newItem"]],
        "index of" => &[&["list", "match"]],
        "sublist" => &[&["list", "start position", "length"]],
        "partition" => &[&["list", "size"]],
        "sort" => &[&["list", "precedes"]],
        "decimal" | "floor" | "ceiling" | "round up" | "round down" | "round half up"
        | "round half down" => &[&["n", "scale"]],
        "abs" => &[&["n"], &["number"]],
        "sqrt" | "log" | "exp" | "odd" | "even" => &[&["number"]],
        "modulo" => &[&["dividend", "divisor"]],
        "day of week" | "day of year" | "week of year" | "month of year" | "last day of month" => {
            &[&["date"]]
        }
        "get value" => &[&["m", "key"], &["context", "key"], &["context", "keys"]],
        "get entries" => &[&["m"], &["context"]],
        "context" => &[&["entries"]],
        "context put" => &[&["context", "key", "value"], &["context", "keys", "value"]],
        "context merge" => &[&["contexts"]],
        "assert" => &[&["value", "condition", "cause"]],
        "to base64" => &[&["value"]],
        "get or else" => &[&["value", "default"]],
        "cycle" => &[&["interval"], &["repetitions", "interval"]],
        "range" => &[&["from"]],
        "before" | "after" | "meets" | "met by" | "overlaps" | "overlaps before"
        | "overlaps after" | "finishes" | "finished by" | "includes" | "during" | "starts"
        | "started by" | "coincides" => &[
            &["point1", "point2"],
            &["point", "range"],
            &["range", "point"],
            &["range1", "range2"],
        ],
        _ => &[],
    }
}

/// Whether a value is of a type; `None` for an unknown type.
pub(crate) fn is_instance(value: &Value, kind: &str) -> Option<bool> {
    Some(match kind {
        "any" | "Any" => !value.is_null(),
        "null" | "Null" => value.is_null(),
        "number" => matches!(value, Value::Number(_)),
        "string" => matches!(value, Value::Text(_)),
        "boolean" => matches!(value, Value::Bool(_)),
        "date" => matches!(value, Value::Date(_)),
        "time" => matches!(value, Value::LocalTime(_) | Value::Time(_)),
        "date and time" => matches!(value, Value::LocalDateTime(_) | Value::DateTime(_)),
        "years and months duration" => {
            matches!(value, Value::Period(period) if months(period).is_some())
        }
        "days and time duration" => {
            matches!(value, Value::Period(period) if months(period).is_none())
        }
        "list" => matches!(value, Value::Array(_)),
        "context" => matches!(value, Value::Object(_)),
        "function" => matches!(value, Value::Foreign(it) if it.kind() == Kind::Function),
        "range" => matches!(value, Value::Foreign(it) if it.kind() == Kind::Range),
        _ => return None,
    })
}
