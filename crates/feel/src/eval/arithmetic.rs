//! Arithmetic of numbers, texts, times and durations. Operands that do not fit have no result.

use meantime_value::temporal::Period;
use meantime_value::{Number, Value};

use super::compare::months;
use super::temporal;
use crate::syntax::Arithmetic;

/// The longest text that an operation may build, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;

pub(super) fn compute(operator: Arithmetic, left: &Value, right: &Value) -> Option<Value> {
    match operator {
        Arithmetic::Add => add(left, right),
        Arithmetic::Subtract => subtract(left, right),
        Arithmetic::Multiply => multiply(left, right),
        Arithmetic::Divide => divide(left, right),
        Arithmetic::Power => power(left, right),
    }
}

/// Large values cost more.
pub(super) fn cost(left: &Value, right: &Value) -> u64 {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.pair_ops(right),
        _ => bytes(left, right) / 64,
    }
}

/// Bytes of the text that two texts make.
pub(super) fn bytes(left: &Value, right: &Value) -> u64 {
    let size = |value: &Value| match value {
        Value::Text(text) => text.len() as u64,
        _ => 0,
    };
    size(left).saturating_add(size(right))
}

pub(super) fn negate(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => Some(Value::Number(number.neg())),
        Value::Period(period) => period.negated().map(Value::Period),
        _ => None,
    }
}

fn add(left: &Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.add(right).ok().map(Value::Number),
        (Value::Text(left), Value::Text(right)) => {
            let fits = left.len().saturating_add(right.len()) <= MAX_TEXT_BYTES;
            fits.then(|| Value::from(format!("{left}{right}")))
        }
        (Value::Period(left), Value::Period(right)) => {
            sum_of_periods(left, right).map(Value::Period)
        }
        (Value::Period(period), time) | (time, Value::Period(period)) => {
            temporal::add(time, period)
        }
        _ => None,
    }
}

fn subtract(left: &Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.sub(right).ok().map(Value::Number),
        (Value::Period(left), Value::Period(right)) => {
            sum_of_periods(left, &right.negated()?).map(Value::Period)
        }
        (time, Value::Period(period)) => temporal::add(time, &period.negated()?),
        _ => temporal::between(left, right),
    }
}

fn sum_of_periods(left: &Period, right: &Period) -> Option<Period> {
    match (months(left), months(right)) {
        (Some(left), Some(right)) => temporal::of_months(left.checked_add(right)?),
        (None, None) => Period::from_nanos(left.to_nanos()?.checked_add(right.to_nanos()?)?),
        _ => None,
    }
}

fn multiply(left: &Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.mul(right).ok().map(Value::Number),
        (Value::Period(period), Value::Number(number))
        | (Value::Number(number), Value::Period(period)) => {
            scale(period, |amount| amount.mul(number).ok()).map(Value::Period)
        }
        _ => None,
    }
}

fn divide(left: &Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.div(right).ok().map(Value::Number),
        (Value::Period(period), Value::Number(number)) => {
            scale(period, |amount| amount.div(number).ok()).map(Value::Period)
        }
        (Value::Period(left), Value::Period(right)) => {
            let (left, right) = match (months(left), months(right)) {
                (Some(left), Some(right)) => (Number::from(left), Number::from(right)),
                (None, None) => (amount(left)?, amount(right)?),
                _ => return None,
            };
            left.div(&right).ok().map(Value::Number)
        }
        _ => None,
    }
}

/// A duration with its amount changed; months are truncated.
fn scale(period: &Period, change: impl FnOnce(&Number) -> Option<Number>) -> Option<Period> {
    match months(period) {
        Some(months) => temporal::of_months(change(&Number::from(months))?.to_i64()?),
        None => {
            let nanos = change(&amount(period)?)?;
            Period::from_nanos(i128::from(nanos.to_i64()?))
        }
    }
}

fn amount(period: &Period) -> Option<Number> {
    i64::try_from(period.to_nanos()?).ok().map(Number::from)
}

fn power(left: &Value, right: &Value) -> Option<Value> {
    let (Value::Number(base), Value::Number(exponent)) = (left, right) else { return None };
    let result = if exponent.is_negative() {
        let positive = base.pow(&exponent.neg()).ok()?;
        Number::from(1_i64).div(&positive)
    } else {
        base.pow(exponent)
    };
    result.ok().map(Value::Number)
}
