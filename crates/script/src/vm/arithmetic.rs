//! Arithmetic of JavaScript. All numbers are doubles; exact integers are stored as integers, which
//! is faster and smaller and makes no observable difference.

use super::machine::Machine;
use super::raise::{VmResult, type_error};
use super::value::Value;
use crate::compile::Op;

/// Up to here every integer is exact as a double: 2^53 - 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// An operand of arithmetic.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "integers to compute with are doubles")]
    pub(crate) fn as_float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// Whether an integer and its neighbours are exact as doubles.
#[inline]
pub(crate) const fn safe(value: i64) -> bool {
    value.unsigned_abs() <= MAX_SAFE_INTEGER
}

/// The sum of two integers, if all three are exact as doubles.
#[inline]
pub(crate) fn exact_sum(left: i64, right: i64) -> Option<i64> {
    left.checked_add(right).filter(|sum| safe(*sum) && safe(left) && safe(right))
}

/// A double as a value: stored as an integer if it is one. Negative zero stays a double.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
#[expect(clippy::cast_precision_loss, reason = "the limit is a power of two less one")]
pub(crate) fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() <= MAX_SAFE_INTEGER as f64;
    if is_whole && (value != 0.0 || value.is_sign_positive()) {
        Value::Int(value as i64)
    } else {
        Value::Float(value)
    }
}

/// A number as 32 bits with a sign, as bit operators see it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is that of 32 bits"
)]
pub(crate) fn bits(value: f64) -> i32 {
    if !value.is_finite() {
        return 0;
    }
    // The remainder is exact, and from 0 to below 2^32.
    (value.trunc().rem_euclid(4_294_967_296.0) as u32).cast_signed()
}

impl Machine<'_> {
    pub(super) fn bits_of(&mut self, value: &Value) -> VmResult<i32> {
        Ok(bits(self.float_of(value)?))
    }

    /// A bit operator on the two values on top.
    pub(super) fn bitwise(&mut self, op: Op) -> VmResult<()> {
        let (right, left) = (self.pop(), self.pop());
        let (left, right) = (self.bits_of(&left)?, self.bits_of(&right)?);
        let shift = right.cast_unsigned() & 31;
        let value = match op {
            Op::BitAnd => i64::from(left & right),
            Op::BitOr => i64::from(left | right),
            Op::BitXor => i64::from(left ^ right),
            Op::ShiftLeft => i64::from(left.wrapping_shl(shift)),
            Op::ShiftRight => i64::from(left.wrapping_shr(shift)),
            _ => i64::from(left.cast_unsigned().wrapping_shr(shift)),
        };
        self.stack.push(Value::Int(value));
        Ok(())
    }

    fn two_numbers(&mut self) -> VmResult<(Number, Number)> {
        let (right, left) = (self.pop(), self.pop());
        Ok((self.number_of(&left)?, self.number_of(&right)?))
    }

    #[inline]
    pub(super) fn add(&mut self) -> VmResult<()> {
        let right = self.pop();
        if let (Some(Value::Int(left)), Value::Int(right)) = (self.stack.last_mut(), &right)
            && let Some(sum) = exact_sum(*left, *right)
        {
            *left = sum;
            return Ok(());
        }
        self.add_others(&right)
    }

    /// Adds to a local variable; concatenates texts.
    pub(super) fn add_to_local(&mut self, base: usize, slot: u32, value: Value) -> VmResult<()> {
        let old = self.local(base, slot);
        self.stack.extend([old, value]);
        self.add()?;
        let sum = self.pop();
        self.set_local(base, slot, sum);
        Ok(())
    }

    /// Adds a small number to the value on top, which may be a text.
    pub(super) fn add_small(&mut self, by: i8) -> VmResult<()> {
        if by < 0 {
            // A negative addend comes only from a subtraction, which never concatenates.
            self.stack.push(Value::Int(-i64::from(by)));
            return self.subtract();
        }
        self.stack.push(Value::Int(i64::from(by)));
        self.add()
    }

    fn add_others(&mut self, right: &Value) -> VmResult<()> {
        let left = self.pop();
        let is_text = |it: &Value| matches!(it, Value::Text(_));
        let is_awaitable = |it: &Value| matches!(it, Value::Awaitable(_));
        let (left, right) = (self.primitive_of(&left)?, self.primitive_of(right)?);
        let sum = if is_text(&left) || is_text(&right) {
            self.concatenate(&left, &right)?
        } else if is_awaitable(&left) || is_awaitable(&right) {
            return Err(type_error("expected a number, found an awaitable: await it first"));
        } else {
            number(self.float_of(&left)? + self.float_of(&right)?)
        };
        self.stack.push(sum);
        Ok(())
    }

    fn concatenate(&mut self, left: &Value, right: &Value) -> VmResult<Value> {
        let mut text = self.text_of(left)?;
        match right {
            Value::Text(right) => text.push_str(right.as_str()),
            other => text.push_str(&self.text_of(other)?),
        }
        self.new_text(text)
    }

    #[inline]
    pub(super) fn subtract(&mut self) -> VmResult<()> {
        let right = self.pop();
        if let (Some(Value::Int(left)), Value::Int(right)) = (self.stack.last_mut(), &right)
            && let Some(negated) = right.checked_neg()
            && let Some(difference) = exact_sum(*left, negated)
        {
            *left = difference;
            return Ok(());
        }
        let left = self.pop();
        let difference = self.float_of(&left)? - self.float_of(&right)?;
        self.stack.push(number(difference));
        Ok(())
    }

    pub(super) fn multiply(&mut self) -> VmResult<()> {
        let (left, right) = self.two_numbers()?;
        let product = match (left, right) {
            (Number::Int(left), Number::Int(right)) if left != 0 && right != 0 => {
                left.checked_mul(right).filter(|it| safe(*it)).map(Value::Int)
            }
            _ => None,
        };
        self.stack.push(product.unwrap_or_else(|| number(left.as_float() * right.as_float())));
        Ok(())
    }

    pub(super) fn divide(&mut self) -> VmResult<()> {
        let (left, right) = self.two_numbers()?;
        self.stack.push(number(left.as_float() / right.as_float()));
        Ok(())
    }

    /// The remainder has the sign of the dividend.
    pub(super) fn remainder(&mut self) -> VmResult<()> {
        let (left, right) = self.two_numbers()?;
        let rest = match (left, right) {
            (Number::Int(left), Number::Int(right)) => {
                left.checked_rem(right).filter(|rest| *rest != 0 || left >= 0).map(Value::Int)
            }
            _ => None,
        };
        self.stack.push(rest.unwrap_or_else(|| number(left.as_float() % right.as_float())));
        Ok(())
    }

    pub(super) fn power(&mut self) -> VmResult<()> {
        let (left, right) = self.two_numbers()?;
        self.stack.push(power(left, right));
        Ok(())
    }

    pub(super) fn negate(&mut self) -> VmResult<()> {
        let value = self.pop();
        let negated = match self.number_of(&value)? {
            Number::Int(value) if value != 0 => Value::Int(-value),
            other => number(-other.as_float()),
        };
        self.stack.push(negated);
        Ok(())
    }

    /// A number and a small one.
    pub(super) fn add_int(&mut self, value: &Value, by: i8) -> VmResult<Value> {
        Ok(match self.number_of(value)? {
            Number::Int(value) if exact_sum(value, i64::from(by)).is_some() => {
                Value::Int(value + i64::from(by))
            }
            other => number(other.as_float() + f64::from(by)),
        })
    }
}

/// A power: exact for integers, otherwise computed by `libm`, which gives the same bits everywhere.
pub(super) fn power(left: Number, right: Number) -> Value {
    if let (Number::Int(base), Number::Int(exponent)) = (left, right)
        && let Ok(exponent) = u32::try_from(exponent)
        && let Some(power) = base.checked_pow(exponent).filter(|it| safe(*it))
    {
        return Value::Int(power);
    }
    let (base, exponent) = (left.as_float(), right.as_float());
    // In these cases JavaScript gives NaN where C gives a number.
    #[expect(clippy::float_cmp, reason = "exactly one is meant")]
    let is_none = exponent.is_nan() || exponent.is_infinite() && base.abs() == 1.0;
    number(if is_none { f64::NAN } else { libm::pow(base, exponent) })
}
