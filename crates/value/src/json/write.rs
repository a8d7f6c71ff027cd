//! A JSON writer with plain numbers and, on request, unique keys.

use std::collections::BTreeMap;
use std::fmt::Write;

use meantime_core::Json;

use crate::temporal::{
    format_date_time, format_local_date_time, format_offset, format_time, format_time_zone,
};
use crate::{Kind, Object, Value};

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

/// Why a value has no JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The value cannot be written.
    #[error("a {0:?} cannot be written as JSON")]
    Unsupported(Kind),
    /// The text is longer than allowed.
    #[error("the result is longer than {0} bytes")]
    TooLong(usize),
    /// The text would be too deep to be read again.
    #[error("the result is nested deeper than {} levels", Json::MAX_DEPTH)]
    TooDeep,
}

/// Writes a value, up to a number of bytes.
pub fn write(value: &Value, layout: Layout, max_bytes: usize) -> Result<String, WriteError> {
    let mut writer = Writer { out: String::new(), layout, max_bytes, level: 0 };
    writer.value(value)?;
    writer.check()?;
    Ok(writer.out)
}

struct Writer {
    out: String,
    layout: Layout,
    max_bytes: usize,
    level: usize,
}

type Result<T = (), E = WriteError> = std::result::Result<T, E>;

impl Writer {
    fn check(&self) -> Result {
        if self.out.len() > self.max_bytes {
            return Err(WriteError::TooLong(self.max_bytes));
        }
        Ok(())
    }

    fn value(&mut self, value: &Value) -> Result {
        self.check()?;
        match value.bare() {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) => self.out.push_str(&number.to_plain_string()),
            Value::Text(text) | Value::Uri(text) => self.text(text),
            Value::Key(key) => self.text(key.name()),
            Value::Array(items) => self.list(items.iter(), Self::value)?,
            Value::Range(range) => {
                self.list(range.iter().map(Value::from), |writer, item| writer.value(&item))?;
            }
            Value::Object(object) => self.object(object)?,
            Value::Date(date) => self.text(&date.to_string()),
            Value::LocalTime(time) => self.text(&format_time(*time)),
            Value::Time(time) => {
                self.text(&format!("{}{}", format_time(time.time), format_offset(time.offset)));
            }
            Value::LocalDateTime(value) => self.text(&format_local_date_time(*value)),
            Value::DateTime(zoned) => self.text(&format_date_time(zoned)),
            Value::TimeZone(zone) => self.text(&format_time_zone(zone)),
            Value::Period(period) => self.text(&period.to_string()),
            Value::Regex(pattern) => self.text(pattern.source()),
            Value::Binary(bytes) => self.text(&String::from_utf8_lossy(bytes)),
            Value::Namespace(namespace) => self.text(&namespace.uri),
            Value::Foreign(_) | Value::Annotated(_) => {
                return Err(WriteError::Unsupported(value.kind()));
            }
        }
        Ok(())
    }

    fn list<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut item: impl FnMut(&mut Self, T) -> Result,
    ) -> Result {
        self.open('[')?;
        for (index, value) in items.enumerate() {
            self.separate(index);
            item(self, value)?;
        }
        self.close(']');
        Ok(())
    }

    fn object(&mut self, object: &Object) -> Result {
        self.open('{')?;
        for (index, (name, value)) in self.pairs(object).into_iter().enumerate() {
            self.separate(index);
            self.text(name);
            self.out.push_str(if self.layout == Layout::Compact { ":" } else { ": " });
            self.value(value)?;
        }
        self.close('}');
        Ok(())
    }

    fn pairs<'o>(&self, object: &'o Object) -> Vec<(&'o str, &'o Value)> {
        let all = object.entries().iter().map(|entry| (&**entry.key.name(), &entry.value));
        if self.layout != Layout::Compact {
            return all.collect();
        }
        let mut pairs: Vec<(&str, &Value)> = Vec::with_capacity(object.len());
        let mut decimals = BTreeMap::new();
        for (name, value) in all {
            match decimals.get(name).and_then(|position: &usize| pairs.get_mut(*position)) {
                Some(pair) => pair.1 = value,
                None => {
                    decimals.insert(name, pairs.len());
                    pairs.push((name, value));
                }
            }
        }
        pairs
    }

    fn open(&mut self, bracket: char) -> Result {
        if self.level == Json::MAX_DEPTH {
            return Err(WriteError::TooDeep);
        }
        self.out.push(bracket);
        self.level += 1;
        self.line();
        Ok(())
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.push(',');
            self.line();
        }
    }

    fn close(&mut self, bracket: char) {
        self.level -= 1;
        self.line();
        self.out.push(bracket);
    }

    fn line(&mut self) {
        if self.layout == Layout::Indented {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", self.level));
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            let short = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0x08 => "\\b",
                0x0c => "\\f",
                0..=0x1f => "",
                _ => continue,
            };
            self.out.push_str(text.get(start..at).unwrap_or_default());
            self.out.push_str(short);
            if short.is_empty() {
                // Writing to a String cannot fail.
                let _ = write!(self.out, "\\u{byte:04x}");
            }
            start = at + 1;
        }
        self.out.push_str(text.get(start..).unwrap_or_default());
        self.out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    #[test]
    fn compact_text_has_unique_keys() {
        let value = read(r#"{"a": 1, "b": [], "a": {"x": "\u0001\n\"é"}}"#).unwrap();
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
        let value = read(r#"{"a":1,"a":[]}"#).unwrap();
        let text = write(&value, Layout::Indented, 1000).unwrap();
        assert_eq!(text, "{\n  \"a\": 1,\n  \"a\": [\n    \n  ]\n}");
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let value = read(&format!("[\"{}\"]", "x".repeat(100))).unwrap();
        assert_eq!(write(&value, Layout::Compact, 50), Err(WriteError::TooLong(50)));
        assert!(read(&"[".repeat(10_000)).is_err());
        let nest =
            |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::array(vec![inner]));
        let deepest = write(&nest(Json::MAX_DEPTH), Layout::Compact, 1000).unwrap();
        assert_eq!(read(&deepest), Ok(nest(Json::MAX_DEPTH)));
        let deeper = write(&nest(Json::MAX_DEPTH + 1), Layout::Compact, 1000);
        assert_eq!(deeper, Err(WriteError::TooDeep));
        for text in ["", "[1,]", "{\"a\"}", "01", "1.", "\"\\x\"", "tru", "1 2", "\"\u{1}\""] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
