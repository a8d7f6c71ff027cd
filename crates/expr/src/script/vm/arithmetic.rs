//! Arithmetic: 64-bit integers as long as they fit, doubles otherwise, and never NaN or Infinity.

use super::machine::Machine;
use super::raise::{Outcome, Raise, range_error, type_error};
use super::value::Value;

/// A number to compute with.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "as JavaScript does for mixed numbers")]
    pub(super) fn as_float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

fn overflow() -> Raise {
    range_error("the result does not fit into a 64-bit integer")
}

/// A double that exists: NaN and Infinity do not.
pub(super) fn finite(value: f64) -> Outcome<Value> {
    if value.is_finite() {
        return Ok(Value::Float(value));
    }
    let what = if value.is_nan() { "not a number" } else { "infinite" };
    Err(range_error(format!("the result is {what}")))
}

/// A value that must be a number.
pub(super) fn need_number(value: &Value) -> Outcome<Number> {
    match value {
        Value::Int(value) => Ok(Number::Int(*value)),
        Value::Float(value) => Ok(Number::Float(*value)),
        other => Err(type_error(format!("expected a number, found {}", other.kind_name()))),
    }
}

impl Machine<'_> {
    fn two_numbers(&mut self) -> Outcome<(Number, Number)> {
        let (right, left) = (self.pop(), self.pop());
        Ok((need_number(&left)?, need_number(&right)?))
    }

    #[inline]
    pub(super) fn add(&mut self) -> Outcome<()> {
        let right = self.pop();
        if let (Some(Value::Int(left)), Value::Int(right)) = (self.stack.last_mut(), &right) {
            *left = left.checked_add(*right).ok_or_else(overflow)?;
            return Ok(());
        }
        self.add_others(&right)
    }

    /// Adds to a local variable, also texts.
    pub(super) fn add_to_local(&mut self, base: usize, slot: u32, value: Value) -> Outcome<()> {
        let old = self.local(base, slot);
        self.stack.extend([old, value]);
        self.add()?;
        let sum = self.pop();
        self.set_local(base, slot, sum);
        Ok(())
    }

    /// Adds a small number to the value on top, which may be a text.
    pub(super) fn add_small(&mut self, by: i8) -> Outcome<()> {
        if matches!(self.stack.last(), Some(Value::Text(_))) && by < 0 {
            // Only a subtraction adds a negative number.
            return Err(type_error("expected a number, found a string"));
        }
        self.stack.push(Value::Int(i64::from(by)));
        self.add()
    }

    fn add_others(&mut self, right: &Value) -> Outcome<()> {
        let left = self.pop();
        let sum = if matches!(left, Value::Text(_)) || matches!(right, Value::Text(_)) {
            self.concatenate(&left, right)?
        } else {
            let (left, right) = (need_number(&left)?, need_number(right)?);
            finite(left.as_float() + right.as_float())?
        };
        self.stack.push(sum);
        Ok(())
    }

    fn concatenate(&mut self, left: &Value, right: &Value) -> Outcome<Value> {
        let mut text = self.text_of(left)?;
        match right {
            Value::Text(right) => text.push_str(right.as_str()),
            other => text.push_str(&self.text_of(other)?),
        }
        self.new_text(text)
    }

    #[inline]
    pub(super) fn subtract(&mut self) -> Outcome<()> {
        let right = self.pop();
        if let (Some(Value::Int(left)), Value::Int(right)) = (self.stack.last_mut(), &right) {
            *left = left.checked_sub(*right).ok_or_else(overflow)?;
            return Ok(());
        }
        let left = self.pop();
        let (left, right) = (need_number(&left)?, need_number(&right)?);
        self.stack.push(finite(left.as_float() - right.as_float())?);
        Ok(())
    }

    pub(super) fn multiply(&mut self) -> Outcome<()> {
        let product = match self.two_numbers()? {
            (Number::Int(left), Number::Int(right)) => {
                Value::Int(left.checked_mul(right).ok_or_else(overflow)?)
            }
            (left, right) => finite(left.as_float() * right.as_float())?,
        };
        self.stack.push(product);
        Ok(())
    }

    /// Two integers give an integer when the division is exact.
    pub(super) fn divide(&mut self) -> Outcome<()> {
        let quotient = match self.two_numbers()? {
            (_, Number::Int(0)) => return Err(range_error("division by zero")),
            (Number::Int(left), Number::Int(right)) if left.checked_rem(right) == Some(0) => {
                Value::Int(left.checked_div(right).ok_or_else(overflow)?)
            }
            (left, right) if right.as_float() != 0.0 => finite(left.as_float() / right.as_float())?,
            _ => return Err(range_error("division by zero")),
        };
        self.stack.push(quotient);
        Ok(())
    }

    /// The remainder has the sign of the dividend.
    pub(super) fn remainder(&mut self) -> Outcome<()> {
        let rest = match self.two_numbers()? {
            (_, Number::Int(0)) => return Err(range_error("division by zero")),
            // The one case that overflows has no remainder.
            (Number::Int(left), Number::Int(right)) => {
                Value::Int(left.checked_rem(right).unwrap_or(0))
            }
            (left, right) if right.as_float() != 0.0 => finite(left.as_float() % right.as_float())?,
            _ => return Err(range_error("division by zero")),
        };
        self.stack.push(rest);
        Ok(())
    }

    pub(super) fn power(&mut self) -> Outcome<()> {
        let (left, right) = self.two_numbers()?;
        let power = power(left, right)?;
        self.stack.push(power);
        Ok(())
    }

    pub(super) fn negate(&mut self) -> Outcome<()> {
        let value = self.pop();
        let negated = match need_number(&value)? {
            Number::Int(value) => Value::Int(value.checked_neg().ok_or_else(overflow)?),
            Number::Float(value) => Value::Float(-value),
        };
        self.stack.push(negated);
        Ok(())
    }
}

/// A number and a small one.
pub(super) fn add_int(value: &Value, by: i8) -> Outcome<Value> {
    match need_number(value)? {
        Number::Int(value) => {
            Ok(Value::Int(value.checked_add(i64::from(by)).ok_or_else(overflow)?))
        }
        Number::Float(value) => finite(value + f64::from(by)),
    }
}

/// A power: exact for integers, otherwise by a library that gives the same bits everywhere.
pub(super) fn power(left: Number, right: Number) -> Outcome<Value> {
    if let (Number::Int(base), Number::Int(exponent)) = (left, right)
        && let Ok(exponent) = u32::try_from(exponent)
    {
        return base.checked_pow(exponent).map(Value::Int).ok_or_else(overflow);
    }
    finite(libm::pow(left.as_float(), right.as_float()))
}
