//! Order and similarity of values.

use std::cmp::Ordering;

use meantime_value::{Kind, Value, text};

use super::super::coerce;
use super::fault::{Fault, Result};
use crate::calendar;

/// The order of two values, which must be of the same kind.
pub(crate) fn compare_same_kind(left: &Value, right: &Value) -> Result<Ordering> {
    let (left, right) = (left.bare(), right.bare());
    match same_kind(left, right) {
        Some(order) => Ok(order),
        None if left.kind() == right.kind() => compare(left, right),
        None => Err(not_comparable(left, right)),
    }
}

/// The order of two values; a text is converted to the kind of the other value.
pub(crate) fn compare(left: &Value, right: &Value) -> Result<Ordering> {
    let (left, right) = (left.bare(), right.bare());
    if let Some(order) = same_kind(left, right) {
        return Ok(order);
    }
    for value in [left, right] {
        let is_ordered = matches!(
            value.kind(),
            Kind::Array | Kind::Object | Kind::Period | Kind::Range | Kind::Function | Kind::Regex
        );
        if is_ordered {
            let message = format!("a {} has no order", value.kind().name());
            return Err(Fault::type_error(message));
        }
    }
    if has_instant(left) && has_instant(right) || has_time(left) && has_time(right) {
        return Ok(calendar::instant(left).cmp(&calendar::instant(right)));
    }
    let kind = match (left.kind(), right.kind()) {
        (Kind::Null, _) | (_, Kind::Null) => return Err(not_comparable(left, right)),
        (Kind::String | Kind::Key, Kind::String | Kind::Key) => Kind::String,
        (Kind::String | Kind::Key, other) | (other, Kind::String | Kind::Key) => other,
        _ => return Err(not_comparable(left, right)),
    };
    let left = coerce::to_kind(left, kind)?;
    let right = coerce::to_kind(right, kind)?;
    same_kind(&left, &right).ok_or_else(|| not_comparable(&left, &right))
}

fn has_instant(value: &Value) -> bool {
    matches!(value.kind(), Kind::Date | Kind::LocalDateTime | Kind::DateTime)
}

fn has_time(value: &Value) -> bool {
    matches!(value.kind(), Kind::Time | Kind::LocalTime)
}

fn same_kind(left: &Value, right: &Value) -> Option<Ordering> {
    Some(match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) | (Value::Uri(a), Value::Uri(b)) => text::compare(a, b),
        (Value::Key(a), Value::Key(b)) => text::compare(a.name(), b.name()),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::LocalTime(a), Value::LocalTime(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.instant().cmp(&b.instant()),
        (Value::LocalDateTime(a), Value::LocalDateTime(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.timestamp().cmp(&b.timestamp()),
        (Value::TimeZone(_), Value::TimeZone(_)) => {
            let name = |value: &Value| coerce::to_text(value).unwrap_or_default();
            name(left).cmp(&name(right))
        }
        _ => return None,
    })
}

fn not_comparable(left: &Value, right: &Value) -> Fault {
    let (a, b) = (left.kind().name(), right.kind().name());
    let mut fault = Fault::type_error(format!("{a} and {b} cannot be compared"));
    if left.is_null() || right.is_null() {
        fault.help = Some("a missing value is null: give a fallback with `default`");
    }
    fault
}

/// Equality after converting both sides to the same kind.
pub(crate) fn is_similar(left: &Value, right: &Value) -> bool {
    let (left, right) = (left.bare(), right.bare());
    match (left, right) {
        (Value::Range(left), Value::Range(right)) => left == right,
        (Value::Array(_) | Value::Range(_), Value::Array(_) | Value::Range(_)) => {
            let (mut a, mut b) = (super::Eval::items(left), super::Eval::items(right));
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return true,
                    (Some(a), Some(b)) if is_similar(&a, &b) => {}
                    _ => return false,
                }
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.entries()
                    .iter()
                    .zip(b.entries())
                    .all(|(a, b)| a.key == b.key && is_similar(&a.value, &b.value))
        }
        _ if left.kind() == right.kind() => left == right,
        _ => {
            let same = |from: &Value, to: &Value| {
                coerce::to_kind(from, to.kind()).is_ok_and(|value| value == *to)
            };
            same(right, left) || same(left, right)
        }
    }
}
