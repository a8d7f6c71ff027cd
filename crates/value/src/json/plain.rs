//! Values as a document would give them back, without the document.

use super::write::{Layout, WriteError, text_of, unique_pairs, write};
use crate::{Key, Number, Object, Value};

/// The value that reading its document gives: keys are unique and only names, dates are texts. A
/// value whose document would be too long or too deep, or that has none, is refused as there.
pub fn as_document(value: &Value, max_bytes: usize) -> Result<Value, WriteError> {
    // For the limits only; nothing reads the text.
    write(value, Layout::Compact, max_bytes)?;
    Ok(if is_plain(value) { value.clone() } else { plain(value) })
}

/// Whether its document gives it back as it is. Most values are shared as a whole then.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::Number(Number::Int(_)) => true,
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(object) => {
            let mut entries = object.entries().iter();
            entries.all(|it| it.key.is_name() && is_plain(&it.value))
                && unique_pairs(object).len() == object.len()
        }
        _ => false,
    }
}

fn plain(value: &Value) -> Value {
    match value.bare() {
        Value::Number(number @ Number::Big(_)) => {
            // Written without an exponent, a whole number may be a small one.
            number.to_plain_string().parse().map_or_else(|_| value.clone(), Value::Number)
        }
        Value::Array(items) => Value::array(items.iter().map(plain).collect()),
        Value::Range(range) => Value::array(range.iter().map(Value::from).collect()),
        Value::Object(object) => {
            let pairs = unique_pairs(object);
            let mut object = Object::with_capacity(pairs.len());
            for (name, value) in pairs {
                object.push(Key::new(name), plain(value));
            }
            Value::object(object)
        }
        other => text_of(other).map_or_else(|| other.clone(), Value::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;
    use crate::object::KeyDetail;

    #[test]
    fn it_is_what_the_document_gives_back() {
        let mut object = Object::default();
        object.insert("a", Value::Number("1e3".parse().unwrap()));
        object.insert("b", Value::Number("1.50".parse().unwrap()));
        object.insert("c", Value::Binary(b"x\xff".to_vec().into()));
        object.insert("a", Value::array(vec![Value::Null, Value::from("é"), Value::from(3_i64)]));
        let attributes = object.clone();
        let detail = KeyDetail { namespace: None, attributes };
        object.push(Key::with_detail("d", detail), Value::Bool(true));
        let mut simple = Object::default();
        simple.insert("x", Value::from(1_i64));
        object.insert("e", Value::object(simple));
        for value in [Value::object(object), Value::Null, Value::Number("12e2".parse().unwrap())] {
            let text = write(&value, Layout::Compact, 1_000).unwrap();
            let (found, wanted) = (as_document(&value, 1_000).unwrap(), read(&text).unwrap());
            assert_eq!(found, wanted);
            assert_eq!(
                write(&found, Layout::Indented, 1_000),
                write(&wanted, Layout::Indented, 1_000)
            );
            assert!(as_document(&value, 3).is_err());
        }
    }
}
