//! Conversions of JavaScript: to numbers, texts, property names and indices.

use super::arithmetic::{Number, number, safe};
use super::json_out::StringifyStyle;
use super::machine::Machine;
use super::number::{print_float, read_number};
use super::raise::{VmResult, type_error, unsupported};
use super::record::{Inner, Proto, Record};
use super::text::Text;
use super::value::Value;

impl Machine<'_> {
    /// A value as a number; NaN if it is none.
    pub(crate) fn number_of(&mut self, value: &Value) -> VmResult<Number> {
        match value {
            Value::Int(value) if safe(*value) => Ok(Number::Int(*value)),
            Value::Int(_) | Value::Verbatim(_) => Err(unsupported(
                "a number of a document that a double cannot hold can be passed on, not computed with",
            )),
            Value::Float(value) => Ok(Number::Float(*value)),
            Value::Undefined
            | Value::Function(_)
            | Value::Builtin(_)
            | Value::Cell(_)
            | Value::Accessor(_) => Ok(Number::Float(f64::NAN)),
            Value::Null => Ok(Number::Int(0)),
            Value::Bool(value) => Ok(Number::Int(i64::from(*value))),
            Value::Text(text) => {
                self.spend_bytes(text.bytes());
                Ok(Number::Float(read_number(text.as_str())))
            }
            Value::List(_) => {
                let text = self.text_of(value)?;
                Ok(Number::Float(read_number(&text)))
            }
            Value::Record(_) => match self.date_of(value) {
                Some(time) => Ok(Number::Float(time)),
                None => match self.converted(value, false)? {
                    Some(plain) => self.number_of(&plain),
                    None => {
                        let text = self.text_of(value)?;
                        Ok(Number::Float(read_number(&text)))
                    }
                },
            },
            Value::Awaitable(_) => {
                Err(type_error("expected a number, found an awaitable: await it first"))
            }
        }
    }

    /// The same as a double.
    pub(crate) fn float_of(&mut self, value: &Value) -> VmResult<f64> {
        Ok(self.number_of(value)?.as_float())
    }

    /// The same as a value.
    pub(crate) fn numeric(&mut self, value: &Value) -> VmResult<Value> {
        Ok(match self.number_of(value)? {
            Number::Int(value) => Value::Int(value),
            Number::Float(value) => number(value),
        })
    }

    /// A value that is not an object: lists, objects and functions become texts.
    pub(crate) fn primitive_of(&mut self, value: &Value) -> VmResult<Value> {
        if let (Value::Record(_), None) = (value, self.date_of(value))
            && let Some(plain) = self.converted(value, false)?
        {
            return Ok(plain);
        }
        match value {
            Value::List(_) | Value::Record(_) | Value::Function(_) | Value::Builtin(_) => {
                let text = self.text_of(value)?;
                self.new_text(text)
            }
            other => Ok(other.clone()),
        }
    }

    /// A value as text, for `+`, templates and `String()`.
    pub(crate) fn text_of(&mut self, value: &Value) -> VmResult<String> {
        Ok(match value {
            Value::Undefined | Value::Cell(_) | Value::Accessor(_) => "undefined".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => print_float(*value),
            Value::Text(text) | Value::Verbatim(text) => text.as_str().to_owned(),
            Value::Function(_) | Value::Builtin(_) => {
                return Err(unsupported("a function has no text here"));
            }
            Value::Awaitable(at) => {
                let instance = self.instance;
                self.heap.awaitables.get(*at).map(|it| it.id(instance)).unwrap_or_default()
            }
            Value::List(_) => self.joined(value, ",", 0)?,
            Value::Record(at) => {
                let at = *at;
                if let Some(plain) = self.converted(value, true)? {
                    return self.text_of(&plain);
                }
                let Some(record) = self.heap.records.get(at) else { return Ok(String::new()) };
                let tag = |name: &str| Ok(format!("[object {name}]"));
                match record.inner() {
                    Inner::None if record.error_parts().is_none() => return tag("Object"),
                    Inner::None | Inner::Error => {}
                    Inner::Map(_) => return tag("Map"),
                    Inner::Set(_) => return tag("Set"),
                    Inner::Iterator(_) => return tag("Iterator"),
                    Inner::Date(time) => return Ok(Self::date_text(*time)),
                    Inner::Regex(_) => return Ok(self.regex_text(value)),
                }
                self.error_text(at)?
            }
        })
    }

    /// The result of the object's own `toString` or `valueOf`, if it has one that gives no object.
    fn converted(&mut self, value: &Value, to_text: bool) -> VmResult<Option<Value>> {
        let Value::Record(at) = value else { return Ok(None) };
        let names = if to_text { ["toString", "valueOf"] } else { ["valueOf", "toString"] };
        let mut called = false;
        for name in names {
            let method = match self.lookup(*at, &Text::new(name)) {
                Ok(method) => self.resolve(method, value)?,
                // The inherited `toString` gives a text, the inherited `valueOf` the object.
                Err(Proto::Nothing) => continue,
                Err(_) if name == "toString" => return Ok(None),
                Err(_) => continue,
            };
            if !matches!(method, Value::Function(_) | Value::Builtin(_)) {
                continue;
            }
            called = true;
            let plain = self.call_now(&method, value.clone(), &[])?;
            if !matches!(plain, Value::Record(_) | Value::List(_) | Value::Function(_)) {
                return Ok(Some(plain));
            }
        }
        let nothing = self.class_of(*at) == Proto::Nothing;
        if called || nothing {
            return Err(type_error("the object cannot be converted to a plain value"));
        }
        Ok(None)
    }

    /// A value for the log: lists and objects as JSON.
    pub(crate) fn log_text(&mut self, value: &Value) -> VmResult<String> {
        let is_error = match value {
            Value::Record(at) => self.heap.records.get(*at).is_some_and(Record::is_error),
            _ => false,
        };
        match value {
            Value::List(_) | Value::Record(_) if !is_error => {
                match self.stringify(value, &StringifyStyle::default())? {
                    Value::Text(text) => Ok(text.as_str().to_owned()),
                    _ => Ok(String::new()),
                }
            }
            Value::Function(_) | Value::Builtin(_) => Ok("function".to_owned()),
            other => self.text_of(other),
        }
    }

    /// A value as a string.
    pub(crate) fn string_of(&mut self, value: &Value) -> VmResult<Text> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            other => {
                let text = self.text_of(other)?;
                self.check_text(text.len())?;
                Ok(Text::new(text))
            }
        }
    }

    /// A value as a property name.
    pub(crate) fn property_name(&mut self, value: &Value) -> VmResult<Text> {
        match value {
            Value::Text(text) | Value::Verbatim(text) => Ok(text.clone()),
            Value::Awaitable(_) => Err(type_error("an awaitable cannot name a property")),
            other => Ok(Text::new(self.text_of(other)?)),
        }
    }

    /// An integer, or the default for `undefined`; fractions are truncated, NaN is 0.
    #[expect(clippy::cast_possible_truncation, reason = "casts of doubles saturate")]
    pub(crate) fn whole_number(&mut self, value: &Value, default: i64) -> VmResult<i64> {
        match value {
            Value::Undefined => Ok(default),
            Value::Int(value) => Ok(*value),
            other => Ok(self.float_of(other)?.trunc() as i64),
        }
    }

    /// An index; a negative one counts from the end.
    pub(crate) fn relative(
        &mut self,
        value: &Value,
        length: usize,
        default: usize,
    ) -> VmResult<usize> {
        let length_int = i64::try_from(length).unwrap_or(i64::MAX);
        let index = self.whole_number(value, i64::try_from(default).unwrap_or(i64::MAX))?;
        let index = if index < 0 { index.saturating_add(length_int) } else { index };
        Ok(usize::try_from(index.clamp(0, length_int)).unwrap_or(length))
    }

    /// An index, limited to 0 up to the length.
    pub(crate) fn clamped(
        &mut self,
        value: &Value,
        length: usize,
        default: usize,
    ) -> VmResult<usize> {
        let index = self.whole_number(value, i64::try_from(default).unwrap_or(i64::MAX))?;
        Ok(usize::try_from(index.max(0)).unwrap_or(usize::MAX).min(length))
    }
}

/// The index that a property name stands for: `"0"`, not `"00"` or `"-1"`.
pub(super) fn index_of_name(name: &str) -> Option<usize> {
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    let plain = name == "0" || !name.starts_with('0');
    if !digits || !plain || name.is_empty() || name.len() > 10 {
        return None;
    }
    name.parse::<u32>().ok().filter(|it| *it != u32::MAX).map(|it| it as usize)
}

/// White space in the sense of JavaScript.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{a0}' | '\u{feff}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}
