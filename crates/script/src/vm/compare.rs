//! Equality and order of JavaScript: `===` without conversion, `==`, `<` and `>` with it.

use std::cmp::Ordering;

use super::machine::Machine;
use super::number::read_number;
use super::raise::{VmResult, type_error, unsupported};
use super::value::Value;
use crate::awaitable::Kind;

impl Machine<'_> {
    /// `===`. An awaitable equals a text that is its id.
    pub(crate) fn is_equal(&self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Int(left), Value::Int(right)) => left == right,
            (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
                compare_numbers(left, right) == Some(Ordering::Equal)
            }
            (Value::Text(left), Value::Text(right))
            | (Value::Verbatim(left), Value::Verbatim(right)) => left.same(right),
            (Value::List(left), Value::List(right)) => left == right,
            (Value::Record(left), Value::Record(right)) => left == right,
            (Value::Function(left), Value::Function(right)) => left == right,
            (Value::Builtin(left), Value::Builtin(right)) => left == right,
            (Value::Awaitable(left), Value::Awaitable(right)) => left == right,
            (Value::Awaitable(at), Value::Text(text))
            | (Value::Text(text), Value::Awaitable(at)) => {
                let instance = self.instance;
                let awaitable = self.heap.awaitables.get(*at);
                awaitable.is_some_and(|it| {
                    !matches!(it.kind, Kind::Promise(_)) && it.id(instance) == text.as_str()
                })
            }
            _ => false,
        }
    }

    /// Like `===`, but NaN equals NaN: for `includes`.
    pub(crate) fn is_same(&self, left: &Value, right: &Value) -> bool {
        let is_nan = |it: &Value| matches!(it, Value::Float(value) if value.is_nan());
        is_nan(left) && is_nan(right) || self.is_equal(left, right)
    }

    /// `==`
    pub(crate) fn is_loosely_equal(&mut self, left: &Value, right: &Value) -> VmResult<bool> {
        let is_object = |it: &Value| matches!(it, Value::List(_) | Value::Record(_));
        let is_plain = |it: &Value| matches!(it, Value::Text(_) | Value::Int(_) | Value::Float(_));
        match (left, right) {
            (Value::Undefined | Value::Null, Value::Undefined | Value::Null) => Ok(true),
            (Value::Undefined | Value::Null, _) | (_, Value::Undefined | Value::Null) => Ok(false),
            (Value::Bool(one), Value::Bool(other)) => Ok(one == other),
            (Value::Bool(value), other) | (other, Value::Bool(value)) => {
                let value = Value::Int(i64::from(*value));
                self.is_loosely_equal(&value, &other.clone())
            }
            (Value::Int(_) | Value::Float(_), Value::Text(text)) => {
                Ok(self.is_equal(left, &Value::Float(read_number(text.as_str()))))
            }
            (Value::Text(text), Value::Int(_) | Value::Float(_)) => {
                Ok(self.is_equal(&Value::Float(read_number(text.as_str())), right))
            }
            (Value::Function(_) | Value::Builtin(_), Value::Text(_))
            | (Value::Text(_), Value::Function(_) | Value::Builtin(_)) => {
                Err(unsupported("a function has no text here"))
            }
            (object, plain) if is_object(object) && is_plain(plain) => {
                let text = self.primitive_of(object)?;
                self.is_loosely_equal(&text, plain)
            }
            (plain, object) if is_object(object) && is_plain(plain) => {
                let text = self.primitive_of(object)?;
                self.is_loosely_equal(plain, &text)
            }
            _ => Ok(self.is_equal(left, right)),
        }
    }

    /// The order of the two values on top; none if one of them is NaN.
    #[inline]
    pub(super) fn compare_top(&mut self) -> VmResult<Option<Ordering>> {
        let (right, left) = (self.pop(), self.pop());
        if let (Value::Int(left), Value::Int(right)) = (&left, &right) {
            return Ok(Some(left.cmp(right)));
        }
        self.compare(&left, &right)
    }

    /// Comparing texts takes time up to the length of the shorter one.
    fn spend_comparison(&mut self, left: &Value, right: &Value) {
        if let (Value::Text(left), Value::Text(right)) = (left, right) {
            self.spend_bytes(left.bytes().min(right.bytes()));
        }
    }

    /// Whether the two values on top are equal, with or without conversion.
    #[inline]
    pub(super) fn equal_top(&mut self, strict: bool) -> VmResult<bool> {
        let (right, left) = (self.pop(), self.pop());
        if let (Value::Int(left), Value::Int(right)) = (&left, &right) {
            return Ok(left == right);
        }
        self.spend_comparison(&left, &right);
        if strict { Ok(self.is_equal(&left, &right)) } else { self.is_loosely_equal(&left, &right) }
    }

    /// Whether a local variable is below a number.
    pub(super) fn is_below(&mut self, base: usize, slot: u32, limit: i32) -> VmResult<bool> {
        let value = self.local(base, slot);
        let order = self.compare(&value, &Value::Int(i64::from(limit)))?;
        Ok(order.is_some_and(Ordering::is_lt))
    }

    /// Two texts by their UTF-16 units, other values as numbers.
    pub(super) fn compare(&mut self, left: &Value, right: &Value) -> VmResult<Option<Ordering>> {
        let is_number = |it: &Value| matches!(it, Value::Int(_) | Value::Float(_));
        if is_number(left) && is_number(right) {
            return Ok(compare_numbers(left, right));
        }
        if matches!(left, Value::Awaitable(_)) || matches!(right, Value::Awaitable(_)) {
            let (left, right) = (left.kind_name(), right.kind_name());
            return Err(type_error(format!("{left} and {right} cannot be compared")));
        }
        let (left, right) = (self.ordinal_of(left)?, self.ordinal_of(right)?);
        if let (Value::Text(left), Value::Text(right)) = (&left, &right) {
            self.spend_bytes(left.bytes().min(right.bytes()));
            return Ok(Some(compare_texts(left.as_str(), right.as_str())));
        }
        let (left, right) = (self.float_of(&left)?, self.float_of(&right)?);
        Ok(left.partial_cmp(&right))
    }

    /// What an object is for a comparison: a `Date` is its time.
    fn ordinal_of(&mut self, value: &Value) -> VmResult<Value> {
        match self.date_of(value) {
            Some(time) => Ok(Value::Float(time)),
            None => self.primitive_of(value),
        }
    }

    pub(super) fn compare_with(&mut self, holds: impl Fn(Ordering) -> bool) -> VmResult<()> {
        let order = self.compare_top()?;
        self.stack.push(Value::Bool(order.is_some_and(holds)));
        Ok(())
    }
}

/// By UTF-16 units, as JavaScript does.
pub(super) fn compare_texts(left: &str, right: &str) -> Ordering {
    if left.is_ascii() && right.is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}

/// Numbers by value; an integer and a double are compared exactly.
pub(super) fn compare_numbers(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Float(right)) => compare_mixed(*left, *right),
        (Value::Float(left), Value::Int(right)) => {
            compare_mixed(*right, *left).map(Ordering::reverse)
        }
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
fn compare_mixed(left: i64, right: f64) -> Option<Ordering> {
    const I64_RANGE_LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if right >= I64_RANGE_LIMIT {
        return Some(Ordering::Less);
    }
    if right < -I64_RANGE_LIMIT {
        return Some(Ordering::Greater);
    }
    if right.is_nan() {
        return None;
    }
    let whole = right.trunc();
    let order = left.cmp(&(whole as i64));
    if order == Ordering::Equal { whole.partial_cmp(&right) } else { Some(order) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_doubles_compare_exactly() {
        let order = |left: i64, right: f64| compare_mixed(left, right).unwrap();
        assert_eq!(order(3, 3.0), Ordering::Equal);
        assert_eq!(order(3, 3.5), Ordering::Less);
        assert_eq!(order(-3, -3.5), Ordering::Greater);
        assert_eq!(order(i64::MAX, 9_223_372_036_854_775_808.0), Ordering::Less);
        assert_eq!(order(9_007_199_254_740_993, 9_007_199_254_740_992.0), Ordering::Greater);
    }
}
