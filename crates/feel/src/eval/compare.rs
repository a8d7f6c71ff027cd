//! Equality and order.

use std::cmp::Ordering;

use meantime_value::temporal::Period;
use meantime_value::{Object, Value};

use crate::foreign::{Interval, interval};
use crate::syntax::Comparison;

/// The result of a comparison; `None` if the two cannot be compared.
pub(crate) fn compare(how: Comparison, left: &Value, right: &Value) -> Option<bool> {
    match how {
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => equal(left, right).map(|equal| !equal),
        Comparison::Less => order(left, right).map(Ordering::is_lt),
        Comparison::LessOrEqual => order(left, right).map(Ordering::is_le),
        Comparison::Greater => order(left, right).map(Ordering::is_gt),
        Comparison::GreaterOrEqual => order(left, right).map(Ordering::is_ge),
    }
}

/// Whether two values are equal; `None` for values of different kinds.
pub(crate) fn equal(left: &Value, right: &Value) -> Option<bool> {
    match (left, right) {
        (Value::Null, Value::Null) => Some(true),
        (Value::Null, _) | (_, Value::Null) => Some(false),
        (Value::Bool(left), Value::Bool(right)) => Some(left == right),
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                return Some(false);
            }
            let all = left.iter().zip(right.iter());
            Some(all.into_iter().all(|(left, right)| equal(left, right) == Some(true)))
        }
        (Value::Object(left), Value::Object(right)) => Some(equal_objects(left, right)),
        (Value::Period(left), Value::Period(right)) => Some(equal_periods(left, right)),
        (Value::Foreign(_), Value::Foreign(_)) => match (interval(left), interval(right)) {
            (Some(left), Some(right)) => Some(equal_intervals(left, right)),
            _ => None,
        },
        _ => order(left, right).map(Ordering::is_eq),
    }
}

fn equal_objects(left: &Object, right: &Object) -> bool {
    left.len() == right.len()
        && left.entries().iter().all(|entry| {
            let other = right.get(entry.key.name());
            other.is_some_and(|other| equal(&entry.value, other) == Some(true))
        })
}

fn equal_intervals(left: &Interval, right: &Interval) -> bool {
    equal(&left.start, &right.start) == Some(true)
        && equal(&left.end, &right.end) == Some(true)
        && left.start_included == right.start_included
        && left.end_included == right.end_included
}

/// Zero durations are equal, whatever their kind.
fn equal_periods(left: &Period, right: &Period) -> bool {
    match (months(left), months(right)) {
        (Some(left), Some(right)) => left == right,
        (None, None) => left.to_nanos() == right.to_nanos(),
        _ => false,
    }
}

/// The months of a years-and-months duration.
pub(crate) fn months(period: &Period) -> Option<i64> {
    match period {
        Period::Calendar { years, months, days: 0 } => {
            Some(i64::from(*years) * 12 + i64::from(*months))
        }
        _ => None,
    }
}

/// The order of two values; `None` if they have none.
pub(crate) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    Some(match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::LocalTime(left), Value::LocalTime(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) => left.instant().cmp(&right.instant()),
        (Value::LocalDateTime(left), Value::LocalDateTime(right)) => left.cmp(right),
        (Value::DateTime(left), Value::DateTime(right)) => left.timestamp().cmp(&right.timestamp()),
        (Value::Period(left), Value::Period(right)) => match (months(left), months(right)) {
            (Some(left), Some(right)) => left.cmp(&right),
            (None, None) => left.to_nanos()?.cmp(&right.to_nanos()?),
            _ => return None,
        },
        _ => return None,
    })
}

/// Whether a value is in a list, in an interval, or equal.
pub(crate) fn matches(value: &Value, test: &Value) -> Option<bool> {
    if let Some(interval) = interval(test) {
        return contains(interval, value);
    }
    if let Value::Array(items) = test
        && !matches!(value, Value::Array(_))
    {
        let found = items.iter().any(|item| matches(value, item) == Some(true));
        return Some(found);
    }
    equal(value, test)
}

/// Whether an interval contains a value.
pub(crate) fn contains(interval: &Interval, value: &Value) -> Option<bool> {
    let above = match &interval.start {
        Value::Null => true,
        start => {
            let order = order(value, start)?;
            order.is_gt() || (interval.start_included && order.is_eq())
        }
    };
    let below = match &interval.end {
        Value::Null => true,
        end => {
            let order = order(value, end)?;
            order.is_lt() || (interval.end_included && order.is_eq())
        }
    };
    Some(above && below)
}
