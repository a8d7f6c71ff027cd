//! Conversions by kind.

use std::sync::Arc;

use meantime_value::{Key, Kind, Namespace, Object, Pattern, Text, Value};

use super::super::eval::{Fault, Result};
use super::schema::Schema;
use super::{binary, number, temporal, text};

/// The value as a kind, without a schema.
pub(crate) fn to_kind(value: &Value, kind: Kind) -> Result {
    convert(value, kind, &Schema::default())
}

/// The value as a kind, with its metadata as the schema.
pub(crate) fn with_metadata(value: &Value, kind: Kind, metadata: &Object) -> Result {
    convert(value, kind, &Schema::new(metadata))
}

/// The value as a kind, if it converts implicitly.
pub(crate) fn auto(value: &Value, kind: Kind) -> Option<Value> {
    let value = value.bare();
    if value.kind() == kind {
        return Some(value.clone());
    }
    if matches!(value, Value::Null | Value::Array(_) | Value::Object(_)) {
        return None;
    }
    to_kind(value, kind).ok()
}

/// The value as text, if it converts implicitly.
pub(crate) fn auto_text(value: &Value) -> Option<Text> {
    to_text(value).ok()
}

/// The value as text.
pub(crate) fn to_text(value: &Value) -> Result<Text> {
    text::to_text(value, &Schema::default())
}

/// The value as a boolean.
pub(crate) fn to_boolean(value: &Value) -> Result<bool> {
    let word: &str = match value.bare() {
        Value::Bool(value) => return Ok(*value),
        Value::Text(text) => text,
        Value::Key(key) => key.name(),
        _ => return Err(Fault::coercion(value, "Boolean")),
    };
    if word.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if word.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(Fault::coercion(value, "Boolean"))
    }
}

/// The value as a kind.
pub(super) fn convert(value: &Value, kind: Kind, schema: &Schema<'_>) -> Result {
    let bare = value.bare();
    let fail = || Fault::coercion(value, kind.name());
    match kind {
        Kind::String => text::to_text(value, schema).map(Value::Text),
        Kind::Number => number::to_number(bare, schema).map(Value::Number),
        Kind::Boolean => to_boolean(bare).map(Value::Bool),
        Kind::Date
        | Kind::DateTime
        | Kind::LocalDateTime
        | Kind::Time
        | Kind::LocalTime
        | Kind::TimeZone
        | Kind::Period => temporal::to_temporal(bare, kind, schema),
        Kind::Binary => binary::to_binary(bare, schema),
        _ if bare.kind() == kind => Ok(bare.clone()),
        Kind::Array => match bare {
            Value::Range(_) => Ok(bare.clone()),
            _ => Err(fail()),
        },
        Kind::Key => match bare {
            Value::Text(_) | Value::Number(_) | Value::Bool(_) => {
                Ok(Value::Key(Key::new(to_text(bare)?)))
            }
            _ => Err(fail()),
        },
        Kind::Regex => match bare {
            Value::Text(text) => Ok(Value::Regex(Arc::new(Pattern::new(text)?))),
            _ => Err(fail()),
        },
        Kind::Uri => match bare {
            Value::Text(text) if is_uri(text) => Ok(Value::Uri(text.clone())),
            Value::Text(text) => Err(Fault::invalid(format!("`{text}` is not a URI"))),
            _ => Err(fail()),
        },
        Kind::Namespace => to_namespace(bare).ok_or_else(fail),
        _ => Err(fail()),
    }
}

fn to_namespace(value: &Value) -> Option<Value> {
    let Value::Object(object) = value else { return None };
    let field = |name| match object.get(name)?.bare() {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    let namespace = Namespace { prefix: field("prefix")?, uri: field("uri")? };
    Some(Value::Namespace(Arc::new(namespace)))
}

/// Whether every character may appear in a URI.
fn is_uri(text: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    text.chars().all(is_allowed)
}
