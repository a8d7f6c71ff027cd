//! Contexts.

use crate::value::{Entry, Object, Value};

/// By a key, or by a path of keys.
pub(super) fn get_value(values: &[Value]) -> Option<Value> {
    match values {
        [Value::Object(object), Value::Text(key)] => {
            Some(object.get(key).cloned().unwrap_or_default())
        }
        [start @ Value::Object(_), Value::Array(keys)] => {
            let mut at = start.clone();
            for key in keys.iter() {
                at = match (&at, key) {
                    (Value::Object(object), Value::Text(key)) => object.get(key)?.clone(),
                    _ => return None,
                };
            }
            Some(at)
        }
        _ => None,
    }
}

pub(super) fn get_entries(values: &[Value]) -> Option<Value> {
    let [Value::Object(object)] = values else { return None };
    let entry = |entry: &Entry| {
        let mut pair = Object::with_capacity(2);
        pair.insert("key", Value::Text(entry.key.name().clone()));
        pair.insert("value", entry.value.clone());
        Value::object(pair)
    };
    Some(Value::from(object.entries().iter().map(entry).collect::<Vec<_>>()))
}

/// From a list of keys and values.
pub(super) fn of_entries(values: &[Value]) -> Option<Value> {
    let entries = match values {
        [Value::Array(items)] => items.to_vec(),
        [one @ Value::Object(_)] => vec![one.clone()],
        _ => return None,
    };
    let mut made = Object::with_capacity(entries.len());
    for entry in &entries {
        let Value::Object(pair) = entry else { return None };
        let Some(Value::Text(key)) = pair.get("key") else { return None };
        let value = pair.get("value")?.clone();
        if made.get(key).is_some() {
            return None;
        }
        made.insert(key, value);
    }
    Some(Value::object(made))
}

/// With an entry added or replaced, by a key or by a path of keys.
pub(super) fn put(values: &[Value]) -> Option<Value> {
    match values {
        [Value::Object(object), Value::Text(key), value] => {
            Some(Value::object(with(object, key, value.clone())))
        }
        [Value::Object(object), Value::Array(keys), value] => {
            put_path(object, keys, value).map(Value::object)
        }
        _ => None,
    }
}

fn put_path(object: &Object, keys: &[Value], value: &Value) -> Option<Object> {
    let (Value::Text(key), rest) = keys.split_first()? else { return None };
    if rest.is_empty() {
        return Some(with(object, key, value.clone()));
    }
    let inner = match object.get(key) {
        Some(Value::Object(inner)) => put_path(inner, rest, value)?,
        None => put_path(&Object::default(), rest, value)?,
        Some(_) => return None,
    };
    Some(with(object, key, Value::object(inner)))
}

fn with(object: &Object, key: &str, value: Value) -> Object {
    let mut made = object.clone();
    let place = made.entries().iter().position(|entry| &**entry.key.name() == key);
    match place {
        Some(place) => made.replace(place, value),
        None => made.insert(key, value),
    }
    made
}

/// Later entries win.
pub(super) fn merge(values: &[Value]) -> Option<Value> {
    let [Value::Array(contexts)] = values else { return None };
    let mut made = Object::default();
    for context in contexts.iter() {
        let Value::Object(object) = context else { return None };
        for entry in object.entries() {
            made = with(&made, entry.key.name(), entry.value.clone());
        }
    }
    Some(Value::object(made))
}
