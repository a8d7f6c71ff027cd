//! Methods of strings. Positions are counted in UTF-16 units.

use super::dispatch::arg;
use crate::library::Method;
use crate::vm::arithmetic::number;
use crate::vm::convert::is_blank;
use crate::vm::json_in::lone_surrogate_error;
use crate::vm::{Machine, Text, Value, VmResult, range_error, type_error};

impl Machine<'_> {
    pub(super) fn text_method(
        &mut self,
        text: &Text,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        let units = text.units();
        self.spend_bytes(text.bytes());
        Ok(Some(match method {
            Method::Includes | Method::IndexOf | Method::StartsWith => {
                self.search(text, method, args)?
            }
            Method::LastIndexOf => self.last_index(text, args)?,
            Method::EndsWith => {
                if self.regex_state(&arg(args, 0)).is_some() {
                    return Err(type_error("`endsWith` needs a string"));
                }
                let wanted = self.string_of(&arg(args, 0))?;
                let end = self.clamped(&arg(args, 1), units, units)?;
                let head = text.as_str().get(..text.byte_at(end)).unwrap_or_default();
                let cut = text.is_inside_pair(end) && wanted.units() > 0;
                Value::Bool(!cut && head.ends_with(wanted.as_str()))
            }
            Method::Slice => {
                let from = self.relative(&arg(args, 0), units, 0)?;
                let to = self.relative(&arg(args, 1), units, units)?;
                self.piece(text, from, to)?
            }
            Method::Substring => {
                let from = self.clamped(&arg(args, 0), units, 0)?;
                let to = self.clamped(&arg(args, 1), units, units)?;
                self.piece(text, from.min(to), from.max(to))?
            }
            Method::At | Method::CharAt => self.char_at(text, method, &arg(args, 0))?,
            Method::CharCodeAt | Method::CodePointAt => {
                self.code_at(text, method, &arg(args, 0))?
            }
            Method::Split => self.split(text, args)?,
            Method::Concat => {
                let mut joined = text.as_str().to_owned();
                for value in args {
                    joined.push_str(&self.text_of(value)?);
                }
                self.new_text(joined)?
            }
            Method::Trim => self.new_text(text.as_str().trim_matches(is_blank))?,
            Method::TrimStart => self.new_text(text.as_str().trim_start_matches(is_blank))?,
            Method::TrimEnd => self.new_text(text.as_str().trim_end_matches(is_blank))?,
            Method::Replace | Method::ReplaceAll => self.replace(text, method, args)?,
            Method::ToUpperCase => self.new_text(text.as_str().to_uppercase())?,
            Method::ToLowerCase => self.new_text(text.as_str().to_lowercase())?,
            Method::PadStart | Method::PadEnd => self.pad(text, method, args)?,
            Method::Repeat => self.repeat(text, &arg(args, 0))?,
            Method::Match | Method::MatchAll | Method::Search => {
                self.match_method(text, method, &arg(args, 0))?
            }
            Method::Substr => {
                let from = self.relative(&arg(args, 0), units, 0)?;
                let count = self.clamped(&arg(args, 1), units, units)?;
                self.piece(text, from, from.saturating_add(count).min(units))?
            }
            Method::IsWellFormed => Value::Bool(true),
            Method::ToWellFormed => Value::Text(text.clone()),
            Method::HasOwnProperty => {
                let name = self.property_name(&arg(args, 0))?;
                Value::Bool(has_own(&name, units))
            }
            _ => return Ok(None),
        }))
    }

    /// `includes`, `indexOf` and `startsWith`
    fn search(&mut self, text: &Text, method: Method, args: &[Value]) -> VmResult<Value> {
        if method != Method::IndexOf && self.regex_state(&arg(args, 0)).is_some() {
            let name = method.name();
            return Err(type_error(format!("`{name}` needs a string, not a regular expression")));
        }
        let wanted = self.string_of(&arg(args, 0))?;
        let from = self.clamped(&arg(args, 1), text.units(), 0)?;
        let found = if wanted.units() == 0 {
            Some(from)
        } else {
            let start = text.byte_at(from);
            let rest = text.as_str().get(start..).unwrap_or_default();
            match method {
                Method::StartsWith if text.is_inside_pair(from) => None,
                Method::StartsWith => rest.starts_with(wanted.as_str()).then_some(from),
                _ => rest.find(wanted.as_str()).map(|at| text.unit_at(at + start)),
            }
        };
        Ok(if method == Method::IndexOf {
            index_or_minus_one(found)
        } else {
            Value::Bool(found.is_some())
        })
    }

    fn last_index(&mut self, text: &Text, args: &[Value]) -> VmResult<Value> {
        let wanted = self.string_of(&arg(args, 0))?;
        let from = self.float_of(&arg(args, 1))?;
        // A value that is not a number means the end.
        let last = if from.is_nan() {
            text.units()
        } else {
            self.clamped(&Value::Float(from), text.units(), 0)?
        };
        if wanted.units() == 0 {
            return Ok(index_or_minus_one(Some(last)));
        }
        let mut end = text.byte_at(last).saturating_add(wanted.bytes()).min(text.bytes());
        if text.is_inside_pair(last) {
            // A character found at this position may begin up to four bytes before it.
            end = end.saturating_sub(4).max(wanted.bytes()).min(text.bytes());
        }
        while !text.as_str().is_char_boundary(end) {
            end -= 1;
        }
        let head = text.as_str().get(..end).unwrap_or_default();
        Ok(index_or_minus_one(head.rfind(wanted.as_str()).map(|byte| text.unit_at(byte))))
    }

    fn piece(&mut self, text: &Text, from: usize, to: usize) -> VmResult<Value> {
        self.check_text(to.saturating_sub(from))?;
        text.slice(from, to).map(Value::Text).ok_or_else(lone_surrogate_error)
    }

    /// `at` and `charAt`
    fn char_at(&mut self, text: &Text, method: Method, position: &Value) -> VmResult<Value> {
        let units = i64::try_from(text.units()).unwrap_or(i64::MAX);
        let at = self.whole_number(position, 0)?;
        let at = if method == Method::At && at < 0 { at.saturating_add(units) } else { at };
        match usize::try_from(at).ok().filter(|_| at < units) {
            Some(at) => self.piece(text, at, at + 1),
            None if method == Method::At => Ok(Value::Undefined),
            None => Ok(Value::text("")),
        }
    }

    /// `charCodeAt` and `codePointAt`
    fn code_at(&mut self, text: &Text, method: Method, position: &Value) -> VmResult<Value> {
        let at = usize::try_from(self.whole_number(position, 0)?).ok();
        let Some((at, unit)) = at.and_then(|at| Some((at, text.unit(at)?))) else {
            let is_code = method == Method::CharCodeAt;
            return Ok(if is_code { Value::Float(f64::NAN) } else { Value::Undefined });
        };
        if method == Method::CodePointAt && !text.is_inside_pair(at) {
            let rest = text.as_str().get(text.byte_at(at)..).unwrap_or_default();
            let point = rest.chars().next().map_or(u32::from(unit), u32::from);
            return Ok(Value::Int(i64::from(point)));
        }
        Ok(Value::Int(i64::from(unit)))
    }

    fn split(&mut self, text: &Text, args: &[Value]) -> VmResult<Value> {
        let most = match arg(args, 1) {
            Value::Undefined => u32::MAX,
            other => wrapped(self.float_of(&other)?),
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        if self.regex_state(&arg(args, 0)).is_some() {
            return self.split_pattern(text, &arg(args, 0), most);
        }
        let parts: Vec<Value> = match arg(args, 0) {
            Value::Undefined => vec![Value::Text(text.clone())],
            separator => {
                let separator = self.string_of(&separator)?;
                if separator.bytes() == 0 {
                    if text.has_pairs() {
                        return Err(lone_surrogate_error());
                    }
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

    fn replace(&mut self, text: &Text, method: Method, args: &[Value]) -> VmResult<Value> {
        if self.regex_state(&arg(args, 0)).is_some() {
            return self.replace_pattern(text, method, &arg(args, 0), &arg(args, 1));
        }
        let wanted = self.string_of(&arg(args, 0))?;
        if let by @ (Value::Function(_) | Value::Builtin(_)) = arg(args, 1) {
            return self.replace_by_function(text, &wanted, &by, method == Method::ReplaceAll);
        }
        let by = self.string_of(&arg(args, 1))?;
        let all = method == Method::ReplaceAll;
        if all && wanted.bytes() == 0 && text.has_pairs() {
            return Err(lone_surrogate_error());
        }
        let most = if all { usize::MAX } else { 1 };
        let mut result = String::new();
        let mut done = 0;
        for (at, found) in text.as_str().match_indices(wanted.as_str()).take(most) {
            let parts = (text.as_str().get(..at), text.as_str().get(at + found.len()..));
            result.push_str(text.as_str().get(done..at).unwrap_or_default());
            expand(
                by.as_str(),
                parts.0.unwrap_or_default(),
                found,
                parts.1.unwrap_or_default(),
                &mut result,
            );
            done = at + found.len();
            if result.len() > self.limits.string_bytes {
                break;
            }
        }
        result.push_str(text.as_str().get(done..).unwrap_or_default());
        self.new_text(result)
    }

    fn pad(&mut self, text: &Text, method: Method, args: &[Value]) -> VmResult<Value> {
        let wanted = usize::try_from(self.whole_number(&arg(args, 0), 0)?).unwrap_or(0);
        let filler = match arg(args, 1) {
            Value::Undefined => Text::new(" "),
            other => self.string_of(&other)?,
        };
        let missing = wanted.saturating_sub(text.units());
        if missing == 0 || filler.units() == 0 {
            return Ok(Value::Text(text.clone()));
        }
        self.check_text(missing.saturating_add(text.bytes()))?;
        let rounds = missing / filler.units() + 1;
        let padding = Text::new(filler.as_str().repeat(rounds)).slice(0, missing);
        let padding = padding.ok_or_else(lone_surrogate_error)?;
        Ok(match method {
            Method::PadStart => Value::text(format!("{}{}", padding.as_str(), text.as_str())),
            _ => Value::text(format!("{}{}", text.as_str(), padding.as_str())),
        })
    }

    fn repeat(&mut self, text: &Text, count: &Value) -> VmResult<Value> {
        let count = self.float_of(count)?;
        if count <= -1.0 || count.is_infinite() {
            return Err(range_error("`repeat` needs a number from 0"));
        }
        let count = usize::try_from(self.whole_number(&number(count), 0)?).unwrap_or(0);
        self.check_text(text.bytes().saturating_mul(count))?;
        Ok(Value::text(text.as_str().repeat(count)))
    }

    /// The concatenated texts of this many values.
    pub(crate) fn join(&mut self, count: usize) -> VmResult<()> {
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

/// The replacement text: `$$` is a dollar, `$&` the match, `` $` `` and `$'` the text around it.
/// Other signs are literal, because there are no groups.
fn expand(by: &str, before: &str, found: &str, behind: &str, out: &mut String) {
    let mut rest = by;
    while let Some(at) = rest.find('$') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let part = match rest.as_bytes().get(at + 1) {
            Some(b'$') => "$",
            Some(b'&') => found,
            Some(b'`') => before,
            Some(b'\'') => behind,
            _ => {
                out.push('$');
                rest = rest.get(at + 1..).unwrap_or_default();
                continue;
            }
        };
        out.push_str(part);
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// A number as 32 bits without a sign.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is that of 32 bits"
)]
fn wrapped(value: f64) -> u32 {
    if value.is_finite() { value.trunc().rem_euclid(4_294_967_296.0) as u32 } else { 0 }
}

/// Whether a string or list of a length has an own property with the name.
pub(super) fn has_own(name: &Text, length: usize) -> bool {
    let index = crate::vm::convert::index_of_name(name.as_str());
    name.as_str() == "length" || index.is_some_and(|it| it < length)
}

/// An index, or -1 if nothing was found.
pub(super) fn index_or_minus_one(found: Option<usize>) -> Value {
    Value::Int(found.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1))
}
