//! Rounding and roots.

use bigdecimal::RoundingMode;
use meantime_value::{Number, Value};

fn one(values: &[Value]) -> Option<&Number> {
    match values {
        [Value::Number(number)] => Some(number),
        _ => None,
    }
}

/// Rounds to this many digits after the point, none by default.
fn rounded(values: &[Value], mode: RoundingMode) -> Option<Value> {
    let (number, scale) = match values {
        [Value::Number(number)] => (number, 0),
        [Value::Number(number), Value::Number(scale)] => (number, scale.to_i64()?),
        _ => return None,
    };
    let allowed = (-6_111..=6_176).contains(&scale);
    allowed.then(|| Value::Number(number.round_to(scale, mode)))
}

pub(super) fn decimal(values: &[Value]) -> Option<Value> {
    let [_, _] = values else { return None };
    rounded(values, RoundingMode::HalfEven)
}

pub(super) fn floor(values: &[Value]) -> Option<Value> {
    rounded(values, RoundingMode::Floor)
}

pub(super) fn ceiling(values: &[Value]) -> Option<Value> {
    rounded(values, RoundingMode::Ceiling)
}

pub(super) fn round_up(values: &[Value]) -> Option<Value> {
    rounded(values, RoundingMode::Up)
}

pub(super) fn round_down(values: &[Value]) -> Option<Value> {
    rounded(values, RoundingMode::Down)
}

pub(super) fn round_half_up(values: &[Value]) -> Option<Value> {
    rounded(values, RoundingMode::HalfUp)
}

pub(super) fn round_half_down(values: &[Value]) -> Option<Value> {
    rounded(values, RoundingMode::HalfDown)
}

/// The absolute value, also of durations.
pub(super) fn abs(values: &[Value]) -> Option<Value> {
    use crate::eval::compare::months;
    match values {
        [Value::Number(number)] => Some(Value::Number(number.abs())),
        [Value::Period(period)] => {
            let negative = match months(period) {
                Some(months) => months < 0,
                None => period.to_nanos()? < 0,
            };
            let period = if negative { period.negated()? } else { *period };
            Some(Value::Period(period))
        }
        _ => None,
    }
}

/// The remainder, with the sign of the divisor.
pub(super) fn modulo(values: &[Value]) -> Option<Value> {
    let [Value::Number(dividend), Value::Number(divisor)] = values else { return None };
    let rest = dividend.rem(divisor).ok()?;
    let wrong = !rest.is_zero() && rest.is_negative() != divisor.is_negative();
    Some(Value::Number(if wrong { rest.add(divisor).ok()? } else { rest }))
}

pub(super) fn sqrt(values: &[Value]) -> Option<Value> {
    one(values)?.sqrt().ok().map(Value::Number)
}

pub(super) fn log(values: &[Value]) -> Option<Value> {
    Number::from_f64(libm::log(one(values)?.to_f64())).ok().map(Value::Number)
}

pub(super) fn exp(values: &[Value]) -> Option<Value> {
    Number::from_f64(libm::exp(one(values)?.to_f64())).ok().map(Value::Number)
}

pub(super) fn odd(values: &[Value]) -> Option<Value> {
    let rest = one(values)?.rem(&Number::from(2_i64)).ok()?;
    Some(Value::Bool(rest.abs() == Number::from(1_i64)))
}

pub(super) fn even(values: &[Value]) -> Option<Value> {
    let rest = one(values)?.rem(&Number::from(2_i64)).ok()?;
    Some(Value::Bool(rest.is_zero()))
}
