//! Values as JSON text, and places inside values.
//!
//! A path is a list of names. Nothing on the way, or something that is not an object, is made an
//! object when a value is put below it.

use meantime_core::Json;
use meantime_expr::value::json::{Layout, read, write};
use meantime_expr::value::{Entry, Key, Object, Value};

/// Reads a document; what cannot be read is null, which no checked document is.
pub(crate) fn parse(json: &Json) -> Value {
    read(json.as_str()).unwrap_or_default()
}

/// The compact text of a value.
pub(crate) fn text(value: &Value) -> String {
    write(value, Layout::Compact, usize::MAX).unwrap_or_else(|_| "null".to_owned())
}

/// A value as a document.
pub(crate) fn document(value: &Value) -> Json {
    Json::parse(&text(value)).unwrap_or_default()
}

/// The value at a path.
pub(crate) fn get<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| object(value)?.get(name))
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

/// The value with another one put at a path.
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

/// The value without what is at a path.
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
