//! Methods of strings. Places are counted in UTF-16 units.

use super::dispatch::arg;
use super::number::need_text;
use crate::script::library::Method;
use crate::script::vm::{Machine, Outcome, Text, Value, range_error, type_error};

impl Machine<'_> {
    pub(super) fn text_method(
        &mut self,
        text: &Text,
        method: Method,
        args: &[Value],
    ) -> Outcome<Option<Value>> {
        let units = text.units();
        self.spend_bytes(text.bytes());
        Ok(Some(match method {
            Method::Includes => {
                let (wanted, from) = search_args(text, args)?;
                Value::Bool(find(text, wanted.as_str(), from).is_some())
            }
            Method::IndexOf => {
                let (wanted, from) = search_args(text, args)?;
                place(find(text, wanted.as_str(), from).map(|byte| text.unit_at(byte)))
            }
            Method::LastIndexOf => {
                let wanted = need_text(&arg(args, 0), "lastIndexOf")?;
                let found = text.as_str().rfind(wanted.as_str());
                place(found.map(|byte| text.unit_at(byte)))
            }
            Method::StartsWith => {
                let (wanted, from) = search_args(text, args)?;
                let rest = text.as_str().get(from..).unwrap_or_default();
                Value::Bool(rest.starts_with(wanted.as_str()))
            }
            Method::EndsWith => {
                let wanted = need_text(&arg(args, 0), "endsWith")?;
                Value::Bool(text.as_str().ends_with(wanted.as_str()))
            }
            Method::Slice => {
                let from = relative(&arg(args, 0), units, 0)?;
                let to = relative(&arg(args, 1), units, units)?;
                self.piece(text, from, to)?
            }
            Method::Substring => {
                let from = clamped(&arg(args, 0), units, 0)?;
                let to = clamped(&arg(args, 1), units, units)?;
                self.piece(text, from.min(to), from.max(to))?
            }
            Method::At | Method::CharAt => char_at(text, method, &arg(args, 0))?,
            Method::CharCodeAt => {
                let at = clamped(&arg(args, 0), units, 0)?;
                let Some(unit) = text.unit(at) else {
                    return Err(range_error("there is no character at this place"));
                };
                Value::Int(i64::from(unit))
            }
            Method::Split => self.split(text, args)?,
            Method::Concat => {
                let mut joined = text.as_str().to_owned();
                for value in args {
                    joined.push_str(&self.text_of(value)?);
                }
                self.new_text(joined)?
            }
            Method::Trim => self.new_text(text.as_str().trim())?,
            Method::TrimStart => self.new_text(text.as_str().trim_start())?,
            Method::TrimEnd => self.new_text(text.as_str().trim_end())?,
            Method::Replace | Method::ReplaceAll => self.replace(text, method, args)?,
            Method::ToUpperCase => self.new_text(text.as_str().to_uppercase())?,
            Method::ToLowerCase => self.new_text(text.as_str().to_lowercase())?,
            Method::PadStart | Method::PadEnd => self.pad(text, method, args)?,
            Method::Repeat => self.repeat(text, &arg(args, 0))?,
            _ => return Ok(None),
        }))
    }

    fn piece(&mut self, text: &Text, from: usize, to: usize) -> Outcome<Value> {
        self.check_text(to.saturating_sub(from))?;
        Ok(Value::Text(text.slice(from, to)))
    }

    fn split(&mut self, text: &Text, args: &[Value]) -> Outcome<Value> {
        let most = match arg(args, 1) {
            Value::Undefined => usize::MAX,
            other => usize::try_from(whole_number(&other, 0)?).unwrap_or(usize::MAX),
        };
        let parts: Vec<Value> = match arg(args, 0) {
            Value::Undefined => vec![Value::Text(text.clone())],
            separator => {
                let separator = need_text(&separator, "split")?;
                if separator.bytes() == 0 {
                    let letters = Value::Text(text.clone());
                    self.elements(&letters)?
                } else {
                    let parts = text.as_str().split(separator.as_str());
                    parts.take(self.limits.entries + 1).map(Value::text).collect()
                }
            }
        };
        self.spend(parts.len());
        self.heap.grow_text(text.bytes());
        self.new_list(parts.into_iter().take(most).collect())
    }

    fn replace(&mut self, text: &Text, method: Method, args: &[Value]) -> Outcome<Value> {
        let name = method.name();
        let wanted = need_text(&arg(args, 0), name)?;
        if let Value::Function(_) | Value::Builtin(_) = arg(args, 1) {
            let message = format!("`{name}` replaces by a string, not by a function");
            return Err(type_error(message));
        }
        let by = need_text(&arg(args, 1), name)?;
        if method == Method::Replace {
            return self.new_text(text.as_str().replacen(wanted.as_str(), by.as_str(), 1));
        }
        // The length is known before the text is made.
        let count = text.as_str().matches(wanted.as_str()).count();
        self.check_text(text.bytes().saturating_add(count.saturating_mul(by.bytes())))?;
        Ok(Value::text(text.as_str().replace(wanted.as_str(), by.as_str())))
    }

    fn pad(&mut self, text: &Text, method: Method, args: &[Value]) -> Outcome<Value> {
        let wanted = usize::try_from(whole_number(&arg(args, 0), 0)?).unwrap_or(0);
        let filler = match arg(args, 1) {
            Value::Undefined => Text::new(" "),
            other => need_text(&other, method.name())?,
        };
        let missing = wanted.saturating_sub(text.units());
        if missing == 0 || filler.units() == 0 {
            return Ok(Value::Text(text.clone()));
        }
        self.check_text(missing.saturating_add(text.bytes()))?;
        let rounds = missing / filler.units() + 1;
        let padding = Text::new(filler.as_str().repeat(rounds)).slice(0, missing);
        Ok(match method {
            Method::PadStart => Value::text(format!("{}{}", padding.as_str(), text.as_str())),
            _ => Value::text(format!("{}{}", text.as_str(), padding.as_str())),
        })
    }

    fn repeat(&mut self, text: &Text, count: &Value) -> Outcome<Value> {
        let Ok(count) = usize::try_from(whole_number(count, 0)?) else {
            return Err(range_error("`repeat` needs a number from 0"));
        };
        self.check_text(text.bytes().saturating_mul(count))?;
        Ok(Value::text(text.as_str().repeat(count)))
    }

    /// The texts of so many values, joined.
    pub(crate) fn join(&mut self, count: usize) -> Outcome<()> {
        let values = self.pop_many(count);
        let mut text = String::new();
        for value in &values {
            match value {
                Value::Text(part) => text.push_str(part.as_str()),
                other => text.push_str(&self.text_of(other)?),
            }
        }
        let text = self.new_text(text)?;
        self.stack.push(text);
        Ok(())
    }
}

/// `at` and `charAt`
fn char_at(text: &Text, method: Method, place: &Value) -> Outcome<Value> {
    let units = i64::try_from(text.units()).unwrap_or(i64::MAX);
    let at = whole_number(place, 0)?;
    let at = if method == Method::At && at < 0 { at + units } else { at };
    match usize::try_from(at).ok().filter(|_| at < units) {
        Some(at) => Ok(Value::Text(text.slice(at, at + 1))),
        None if method == Method::At => Ok(Value::Undefined),
        None => Ok(Value::text("")),
    }
}

/// Where a text begins in another one, from a byte on.
fn find(text: &Text, wanted: &str, from: usize) -> Option<usize> {
    let rest = text.as_str().get(from..)?;
    rest.find(wanted).map(|at| at + from)
}

/// A place that was found, or -1.
pub(super) fn place(found: Option<usize>) -> Value {
    Value::Int(found.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1))
}

/// A whole number, or a default for `undefined`; fractions are cut off.
#[expect(clippy::cast_possible_truncation, reason = "casts of doubles saturate")]
pub(super) fn whole_number(value: &Value, default: i64) -> Outcome<i64> {
    match value {
        Value::Undefined => Ok(default),
        Value::Int(value) => Ok(*value),
        Value::Float(value) => Ok(value.trunc() as i64),
        other => Err(type_error(format!("expected a number, found {}", other.kind_name()))),
    }
}

/// A place that counts from the end when it is negative.
pub(super) fn relative(value: &Value, length: usize, default: usize) -> Outcome<usize> {
    let length_int = i64::try_from(length).unwrap_or(i64::MAX);
    let place = whole_number(value, i64::try_from(default).unwrap_or(i64::MAX))?;
    let place = if place < 0 { place.saturating_add(length_int) } else { place };
    Ok(usize::try_from(place.clamp(0, length_int)).unwrap_or(length))
}

/// A place between 0 and the length.
fn clamped(value: &Value, length: usize, default: usize) -> Outcome<usize> {
    let place = whole_number(value, i64::try_from(default).unwrap_or(i64::MAX))?;
    Ok(usize::try_from(place.max(0)).unwrap_or(usize::MAX).min(length))
}

/// A text to look for, and the byte to begin at.
fn search_args(text: &Text, args: &[Value]) -> Outcome<(Text, usize)> {
    let wanted = need_text(&arg(args, 0), "includes, indexOf or startsWith")?;
    let from = clamped(&arg(args, 1), text.units(), 0)?;
    Ok((wanted, text.byte_at(from)))
}
