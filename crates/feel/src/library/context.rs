//! Contexts.

use meantime_value::{Entry, Object, Value};

use crate::eval::Evaluator;
use crate::problem::EvaluationError;

type Result<T> = std::result::Result<T, EvaluationError>;

/// Gets a value by a key, or by a path of keys.
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

/// Creates a context from a list of keys and values.
pub(super) fn of_entries(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let entries = match values {
        [Value::Array(items)] => items.to_vec(),
        [one @ Value::Object(_)] => vec![one.clone()],
        _ => return Ok(None),
    };
    let mut made = Object::with_capacity(entries.len());
    for entry in &entries {
        // A key is compared with those before it.
        evaluator.spend((made.len() as u64 / 16).saturating_add(1))?;
        let Value::Object(pair) = entry else { return Ok(None) };
        let (Some(Value::Text(key)), Some(value)) = (pair.get("key"), pair.get("value")) else {
            return Ok(None);
        };
        if made.get(key).is_some() {
            return Ok(None);
        }
        made.insert(key, value.clone());
    }
    Ok(Some(Value::object(made)))
}

/// Adds or replaces an entry, by a key or by a path of keys.
pub(super) fn put(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    Ok(match values {
        [Value::Object(object), Value::Text(key), value] => {
            let mut made = Object::clone(object);
            set(&mut made, key, value.clone());
            Some(Value::object(made))
        }
        [Value::Object(object), Value::Array(keys), value] => {
            put_path(evaluator, object, keys, value)?.map(Value::object)
        }
        _ => None,
    })
}

fn put_path(
    evaluator: &mut Evaluator<'_>,
    object: &Object,
    keys: &[Value],
    value: &Value,
) -> Result<Option<Object>> {
    evaluator.spend((object.len() as u64).saturating_add(1))?;
    evaluator.allocate_items(object.len().saturating_mul(2))?;
    let Some((Value::Text(key), rest)) = keys.split_first() else { return Ok(None) };
    let mut made = object.clone();
    if rest.is_empty() {
        set(&mut made, key, value.clone());
        return Ok(Some(made));
    }
    // The same depth as for values: each key takes a stack frame.
    if rest.len() > 256 {
        return Err(EvaluationError::TooDeep);
    }
    let inner = match object.get(key) {
        Some(Value::Object(inner)) => put_path(evaluator, inner, rest, value)?,
        None => put_path(evaluator, &Object::default(), rest, value)?,
        Some(_) => None,
    };
    Ok(inner.map(|inner| {
        set(&mut made, key, Value::object(inner));
        made
    }))
}

fn set(object: &mut Object, key: &str, value: Value) {
    let index = object.entries().iter().position(|entry| &**entry.key.name() == key);
    match index {
        Some(index) => object.replace(index, value),
        None => object.insert(key, value),
    }
}

/// Merges the contexts of a list, or the arguments. Later entries win.
pub(super) fn merge(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let contexts = match values {
        [] => return Ok(None),
        [Value::Array(contexts)] => contexts.to_vec(),
        contexts => contexts.to_vec(),
    };
    let mut made = Object::default();
    for context in &contexts {
        let Value::Object(object) = context else { return Ok(None) };
        for entry in object.entries() {
            evaluator.spend((made.len() as u64 / 16).saturating_add(1))?;
            evaluator.allocate_items(2)?;
            set(&mut made, entry.key.name(), entry.value.clone());
        }
    }
    Ok(Some(Value::object(made)))
}
