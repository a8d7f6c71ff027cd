//! Values as JSON text, and paths into values.
//!
//! A path is a list of names. When a value is written below a path, anything on the way that is
//! missing or not an object is replaced by an object.

use meantime_core::{Fault, Json};
use meantime_value::json::{Layout, WriteError, read_document, write, write_document};
use meantime_value::{Entry, Key, Object, Value};

/// Bytes of a value in a message.
const MAX_SHOWN_BYTES: usize = 200;

/// Parses a document. Every document was checked when it was accepted, so one that cannot be parsed
/// is damaged; this is reported and never replaced by a default.
pub(crate) fn parse(json: &Json) -> Result<Value, Fault> {
    read_document(json).map_err(|error| Fault::new("unsupported_json", error.to_string()))
}

/// The compact text of a value.
pub(crate) fn text(value: &Value) -> Result<String, WriteError> {
    write(value, Layout::Compact, usize::MAX)
}

/// A value for messages, shortened if it is long.
pub(crate) fn shown(value: &Value) -> String {
    let mut text = text(value).unwrap_or_else(|error| format!("({error})"));
    if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN_BYTES) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A value as a document; an error if it is nested too deep.
pub(crate) fn document(value: &Value) -> Result<Json, Fault> {
    write_document(value, usize::MAX)
        .map_err(|error| Fault::new("unsupported_json", error.to_string()))
}

/// The value at a path.
pub(crate) fn get<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| object(value)?.get(name))
}

/// The value at a path; names below `headers` match in any case, as in expressions.
pub(crate) fn get_header<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    let mut above = "";
    path.iter().try_fold(value, |value, name| {
        let object = object(value)?;
        let in_any_case = || {
            let mut entries = object.entries().iter().filter(|_| above == "headers");
            entries.find(|it| it.key.name().eq_ignore_ascii_case(name)).map(|it| &it.value)
        };
        let found = object.get(name).or_else(in_any_case);
        above = name;
        found
    })
}

/// The object, if the value is one.
pub(crate) fn object(value: &Value) -> Option<&Object> {
    match value.bare() {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// The text, if the value is one.
pub(crate) fn string(value: &Value) -> Option<String> {
    match value.bare() {
        Value::Text(text) => Some(text.to_string()),
        _ => None,
    }
}

/// An object of pairs.
pub(crate) fn object_of<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    let mut object = Object::with_capacity(N);
    for (name, value) in pairs {
        object.insert(name, value);
    }
    Value::object(object)
}

/// The value with another one written at a path.
pub(crate) fn put(value: &Value, path: &[String], new: Value) -> Value {
    let Some((name, rest)) = path.split_first() else { return new };
    let empty = Object::default();
    let old = object(value).unwrap_or(&empty);
    let inner =
        if rest.is_empty() { new } else { put(old.get(name).unwrap_or(&Value::Null), rest, new) };
    let mut found = false;
    let mut changed: Object = old
        .entries()
        .iter()
        .map(|entry| {
            let is_it = **entry.key.name() == **name;
            found |= is_it;
            let value = if is_it { inner.clone() } else { entry.value.clone() };
            Entry { key: entry.key.clone(), value }
        })
        .collect();
    if !found {
        changed.push(Key::new(name.as_str()), inner);
    }
    Value::object(changed)
}

/// The value without the part at a path.
pub(crate) fn without(value: &Value, path: &[String]) -> Value {
    let (Some((name, rest)), Some(old)) = (path.split_first(), object(value)) else {
        return value.clone();
    };
    let is_it = |entry: &Entry| **entry.key.name() == **name;
    if rest.is_empty() {
        let kept = old.entries().iter().filter(|entry| !is_it(entry)).cloned();
        return Value::object(kept.collect());
    }
    match old.get(name) {
        Some(inner) => put(value, std::slice::from_ref(name), without(inner, rest)),
        None => value.clone(),
    }
}
