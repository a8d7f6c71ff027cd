//! A JSON writer with plain numbers and, on request, unique keys.

use std::collections::BTreeMap;

use meantime_core::Json;
use meantime_core::json::{self, Writer};

use crate::temporal::{
    format_date_time, format_local_date_time, format_offset, format_time, format_time_zone,
};
use crate::{Kind, Number, Object, Value};

/// The layout of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// No space; a repeated key is written once, with its last value at its first position.
    Compact,
    /// Two spaces per level, every pair as it is.
    Indented,
    /// On one line, every pair as it is.
    OneLine,
}

impl Layout {
    const fn layout(self) -> json::TextLayout<'static> {
        match self {
            Self::Compact => json::TextLayout { indent: None, spaced: false, breaks_empty: false },
            Self::Indented => {
                json::TextLayout { indent: Some("  "), spaced: true, breaks_empty: true }
            }
            Self::OneLine => json::TextLayout { indent: None, spaced: true, breaks_empty: false },
        }
    }
}

/// Why a value has no JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The value cannot be written.
    #[error("a {0:?} cannot be written as JSON")]
    Unsupported(Kind),
    /// The text is too long or too deep.
    #[error(transparent)]
    Limit(#[from] json::WriteLimit),
}

/// Writes a value, up to a number of bytes.
pub fn write(value: &Value, layout: Layout, max_bytes: usize) -> Result<String, WriteError> {
    Ok(written(value, layout, max_bytes)?.into_text()?)
}

/// Writes a value as a document, up to a number of bytes.
pub fn write_document(value: &Value, max_bytes: usize) -> Result<Json, WriteError> {
    Ok(written(value, Layout::Compact, max_bytes)?.into_json()?)
}

/// The text of a value that is no list, no object and no plain value; as what it is a text.
pub(super) fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::Uri(text) => text.to_string(),
        Value::Key(key) => key.name().to_string(),
        Value::Date(date) => date.to_string(),
        Value::LocalTime(time) => format_time(*time),
        Value::Time(time) => format!("{}{}", format_time(time.time), format_offset(time.offset)),
        Value::LocalDateTime(value) => format_local_date_time(*value),
        Value::DateTime(zoned) => format_date_time(zoned),
        Value::TimeZone(zone) => format_time_zone(zone),
        Value::Period(period) => period.to_string(),
        Value::Regex(pattern) => pattern.source().to_string(),
        Value::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Namespace(namespace) => namespace.uri.to_string(),
        _ => return None,
    })
}

fn written(value: &Value, layout: Layout, max_bytes: usize) -> Result<Writer<'static>> {
    let out = Writer::new(layout.layout(), max_bytes);
    let mut writer = ValueWriter { out, has_unique_keys: layout == Layout::Compact };
    writer.value(value)?;
    Ok(writer.out)
}

struct ValueWriter {
    out: Writer<'static>,
    has_unique_keys: bool,
}

type Result<T = (), E = WriteError> = std::result::Result<T, E>;

impl ValueWriter {
    fn value(&mut self, value: &Value) -> Result {
        let out = &mut self.out;
        match value.bare() {
            Value::Null => out.null()?,
            Value::Bool(value) => out.bool(*value)?,
            Value::Number(Number::Int(value)) => out.integer(*value)?,
            Value::Number(number) => out.number(&number.to_plain_string())?,
            Value::Text(text) => out.text(text)?,
            Value::Array(items) => {
                out.list()?;
                for item in items.iter() {
                    self.value(item)?;
                }
                self.out.end_of_list();
            }
            Value::Range(range) => {
                out.list()?;
                for item in range.iter() {
                    self.value(&Value::from(item))?;
                }
                self.out.end_of_list();
            }
            Value::Object(object) => self.object(object)?,
            other => match text_of(other) {
                Some(text) => out.text(&text)?,
                None => return Err(WriteError::Unsupported(value.kind())),
            },
        }
        Ok(())
    }

    fn object(&mut self, object: &Object) -> Result {
        self.out.object()?;
        if self.has_unique_keys {
            for (name, value) in unique_pairs(object) {
                self.pair(name, value)?;
            }
        } else {
            for entry in object.entries() {
                self.pair(entry.key.name(), &entry.value)?;
            }
        }
        self.out.end_of_object();
        Ok(())
    }

    fn pair(&mut self, name: &str, value: &Value) -> Result {
        self.out.key(name)?;
        self.value(value)
    }
}

/// Every key once, with its last value at its first position.
pub(super) fn unique_pairs(object: &Object) -> Vec<(&str, &Value)> {
    let mut pairs: Vec<(&str, &Value)> = Vec::with_capacity(object.len());
    let mut positions = BTreeMap::new();
    for entry in object.entries() {
        let name = &**entry.key.name();
        match positions.get(name).and_then(|position: &usize| pairs.get_mut(*position)) {
            Some(pair) => pair.1 = &entry.value,
            None => {
                positions.insert(name, pairs.len());
                pairs.push((name, &entry.value));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;
    use crate::json::read;

    #[test]
    fn compact_text_has_unique_keys() {
        let mut object = Object::default();
        object.push(Key::new("a"), Value::from(1_i64));
        object.push(Key::new("b"), read("[]").unwrap());
        object.push(Key::new("a"), read(r#"{"x": "\u0001\n\"é"}"#).unwrap());
        let value = Value::object(object);
        let text = write(&value, Layout::Compact, 1000).unwrap();
        assert_eq!(text, r#"{"a":{"x":"\u0001\n\"é"},"b":[]}"#);
    }

    #[test]
    fn numbers_are_exact_and_plain() {
        let value = read("[1e3, 1.10, 123456789012345678901234567890]").unwrap();
        let text = write(&value, Layout::Compact, 1000).unwrap();
        assert_eq!(text, "[1000,1.1,123456789012345678901234567890]");
    }

    #[test]
    fn indented_text_keeps_everything() {
        let mut object = Object::default();
        object.push(Key::new("a"), Value::from(1_i64));
        object.push(Key::new("a"), read("[]").unwrap());
        let value = Value::object(object);
        let text = write(&value, Layout::Indented, 1000).unwrap();
        assert_eq!(text, "{\n  \"a\": 1,\n  \"a\": [\n    \n  ]\n}");
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let value = read(&format!("[\"{}\"]", "x".repeat(100))).unwrap();
        assert_eq!(write(&value, Layout::Compact, 50), Err(json::WriteLimit::TooLong(50).into()));
        assert!(read(&"[".repeat(10_000)).is_err());
        let nest =
            |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::array(vec![inner]));
        let deepest = write(&nest(Json::MAX_DEPTH), Layout::Compact, 1000).unwrap();
        assert_eq!(read(&deepest), Ok(nest(Json::MAX_DEPTH)));
        let deeper = write(&nest(Json::MAX_DEPTH + 1), Layout::Compact, 1000);
        assert_eq!(deeper, Err(json::WriteLimit::TooDeep.into()));
        for text in ["", "[1,]", "{\"a\"}", "01", "1.", "\"\\x\"", "tru", "1 2", "\"\u{1}\""] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
