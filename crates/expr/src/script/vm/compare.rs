//! Equality and order. No coercion anywhere.

use std::cmp::Ordering;

use super::machine::Machine;
use super::raise::{Outcome, type_error};
use super::value::Value;

impl Machine<'_> {
    /// `==` and `===`, which are the same.
    pub(crate) fn is_equal(&self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Undefined | Value::Null, Value::Undefined | Value::Null) => true,
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
            // An awaitable and a text: by the id of the awaitable.
            (Value::Awaitable(at), Value::Text(text))
            | (Value::Text(text), Value::Awaitable(at)) => {
                let instance = self.instance;
                let awaitable = self.heap.awaitables.get(*at);
                awaitable.is_some_and(|it| it.id(instance) == text.as_str())
            }
            _ => false,
        }
    }

    /// How the two values on top compare.
    #[inline]
    pub(super) fn compare_top(&mut self) -> Outcome<Ordering> {
        let (right, left) = (self.pop(), self.pop());
        if let (Value::Int(left), Value::Int(right)) = (&left, &right) {
            return Ok(left.cmp(right));
        }
        self.spend_comparison(&left, &right);
        self.compare(&left, &right)
    }

    /// Long texts take as long as they are alike.
    fn spend_comparison(&mut self, left: &Value, right: &Value) {
        if let (Value::Text(left), Value::Text(right)) = (left, right) {
            self.spend_bytes(left.bytes().min(right.bytes()));
        }
    }

    /// Whether the two values on top are equal.
    #[inline]
    pub(super) fn equal_top(&mut self) -> bool {
        let (right, left) = (self.pop(), self.pop());
        if let (Value::Int(left), Value::Int(right)) = (&left, &right) {
            return left == right;
        }
        self.spend_comparison(&left, &right);
        self.is_equal(&left, &right)
    }

    /// Whether a local variable is below a number.
    pub(super) fn is_below(&mut self, base: usize, slot: u32, limit: i32) -> Outcome<bool> {
        let value = self.local(base, slot);
        Ok(self.compare(&value, &Value::Int(i64::from(limit)))?.is_lt())
    }

    pub(super) fn compare(&mut self, left: &Value, right: &Value) -> Outcome<Ordering> {
        if let (Value::Text(left), Value::Text(right)) = (left, right) {
            self.spend_bytes(left.bytes().min(right.bytes()));
            return Ok(compare_texts(left.as_str(), right.as_str()));
        }
        compare_numbers(left, right).ok_or_else(|| {
            let (left, right) = (left.kind_name(), right.kind_name());
            type_error(format!("{left} and {right} cannot be compared"))
        })
    }

    pub(super) fn compare_with(&mut self, holds: impl Fn(Ordering) -> bool) -> Outcome<()> {
        let order = self.compare_top()?;
        self.stack.push(Value::Bool(holds(order)));
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

/// Numbers by their value, an integer and a double exactly.
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
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if right >= LIMIT {
        return Some(Ordering::Less);
    }
    if right < -LIMIT {
        return Some(Ordering::Greater);
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
