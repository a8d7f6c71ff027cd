//! Values as JSON and as text.

use meantime_value::{Entry, Kind, Object, Value};

use super::eval::temporal;

/// A value without a JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a {0:?} cannot be a variable")]
pub struct NotJson(Kind);

/// The value with every date, time and duration as text, so that it is plain JSON. Instants keep
/// their offset and lose the name of their zone.
pub fn to_json(value: &Value) -> Result<Value, NotJson> {
    if let Some(text) = temporal::written(value, false) {
        return Ok(Value::from(text));
    }
    Ok(match value {
        Value::Array(items) => {
            let items: Result<Vec<Value>, NotJson> = items.iter().map(to_json).collect();
            Value::from(items?)
        }
        Value::Object(object) => {
            let mut plain = Object::with_capacity(object.len());
            for Entry { key, value } in object.entries() {
                plain.push(key.clone(), to_json(value)?);
            }
            Value::object(plain)
        }
        Value::Foreign(foreign) => return Err(NotJson(foreign.kind())),
        other => other.clone(),
    })
}
