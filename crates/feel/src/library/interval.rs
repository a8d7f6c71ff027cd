//! Relations between points and intervals.

use std::cmp::Ordering;

use meantime_value::Value;

use crate::eval::compare::{contains, order};
use crate::foreign::{Interval, interval, interval_text};

/// A point counts as an interval of itself.
fn span(value: &Value) -> Interval {
    interval(value).cloned().unwrap_or_else(|| Interval {
        start: value.clone(),
        end: value.clone(),
        start_included: true,
        end_included: true,
    })
}

fn both(values: &[Value]) -> Option<(Interval, Interval)> {
    let [left, right] = values else { return None };
    Some((span(left), span(right)))
}

fn ranges(values: &[Value]) -> Option<(Interval, Interval)> {
    let [left, right] = values else { return None };
    Some((interval(left)?.clone(), interval(right)?.clone()))
}

/// `range("[1..5)")`
pub(super) fn range(values: &[Value]) -> Option<Value> {
    let [Value::Text(text)] = values else { return None };
    let inner = text.get(1..text.len().checked_sub(1)?)?;
    let (start, end) = inner.split_once("..")?;
    let part = |text: &str| -> Option<Value> {
        if text.trim().is_empty() {
            return Some(Value::Null);
        }
        let program = crate::compile(text).ok()?;
        let environment = crate::Environment { now: None, ops: 1_000, seed: 0 };
        program.evaluate(&|_| None, &environment).value.ok().filter(|value| !value.is_null())
    };
    let start_included = text.starts_with('[');
    let end_included = text.ends_with(']');
    let interval = Interval { start: part(start)?, end: part(end)?, start_included, end_included };
    let open = interval.start.is_null() || interval.end.is_null();
    let ordered = open || order(&interval.start, &interval.end)?.is_le();
    ordered.then(|| interval_text(interval))
}

pub(super) fn before(values: &[Value]) -> Option<Value> {
    let (left, right) = both(values)?;
    Some(Value::Bool(precedes(&left, &right)?))
}

pub(super) fn after(values: &[Value]) -> Option<Value> {
    let (left, right) = both(values)?;
    Some(Value::Bool(precedes(&right, &left)?))
}

fn precedes(left: &Interval, right: &Interval) -> Option<bool> {
    Some(match order(&left.end, &right.start)? {
        Ordering::Less => true,
        Ordering::Equal => !left.end_included || !right.start_included,
        Ordering::Greater => false,
    })
}

pub(super) fn meets(values: &[Value]) -> Option<Value> {
    let (left, right) = ranges(values)?;
    Some(Value::Bool(touches(&left, &right)?))
}

pub(super) fn met_by(values: &[Value]) -> Option<Value> {
    let (left, right) = ranges(values)?;
    Some(Value::Bool(touches(&right, &left)?))
}

fn touches(left: &Interval, right: &Interval) -> Option<bool> {
    let same = order(&left.end, &right.start)?.is_eq();
    Some(same && left.end_included && right.start_included)
}

pub(super) fn overlaps(values: &[Value]) -> Option<Value> {
    let (left, right) = ranges(values)?;
    Some(Value::Bool(!precedes(&left, &right)? && !precedes(&right, &left)?))
}

/// The order of two starts: a closed one comes first.
fn start_order(left: &Interval, right: &Interval) -> Option<Ordering> {
    let order = order(&left.start, &right.start)?;
    Some(order.then(right.start_included.cmp(&left.start_included)))
}

/// The order of two ends: a closed one comes last.
fn end_order(left: &Interval, right: &Interval) -> Option<Ordering> {
    let order = order(&left.end, &right.end)?;
    Some(order.then(left.end_included.cmp(&right.end_included)))
}

pub(super) fn overlaps_before(values: &[Value]) -> Option<Value> {
    let (left, right) = ranges(values)?;
    Some(Value::Bool(laps(&left, &right)?))
}

pub(super) fn overlaps_after(values: &[Value]) -> Option<Value> {
    let (left, right) = ranges(values)?;
    Some(Value::Bool(laps(&right, &left)?))
}

fn laps(left: &Interval, right: &Interval) -> Option<bool> {
    let begins = start_order(left, right)?.is_le();
    let ends = end_order(left, right)?.is_le();
    let same = start_order(left, right)?.is_eq() && end_order(left, right)?.is_gt();
    Some(begins && ends && !same && !precedes(left, right)?)
}

pub(super) fn finishes(values: &[Value]) -> Option<Value> {
    let (left, right) = both(values)?;
    Some(Value::Bool(end_order(&left, &right)?.is_eq() && start_order(&left, &right)?.is_ge()))
}

pub(super) fn finished_by(values: &[Value]) -> Option<Value> {
    let (left, right) = both(values)?;
    Some(Value::Bool(end_order(&left, &right)?.is_eq() && start_order(&left, &right)?.is_le()))
}

pub(super) fn includes(values: &[Value]) -> Option<Value> {
    let [left, right] = values else { return None };
    Some(Value::Bool(encloses(interval(left)?, right)?))
}

pub(super) fn during(values: &[Value]) -> Option<Value> {
    let [left, right] = values else { return None };
    Some(Value::Bool(encloses(interval(right)?, left)?))
}

fn encloses(outer: &Interval, inner: &Value) -> Option<bool> {
    match interval(inner) {
        None => contains(outer, inner),
        Some(inner) => Some(start_order(outer, inner)?.is_le() && end_order(outer, inner)?.is_ge()),
    }
}

pub(super) fn starts(values: &[Value]) -> Option<Value> {
    let (left, right) = both(values)?;
    Some(Value::Bool(start_order(&left, &right)?.is_eq() && end_order(&left, &right)?.is_le()))
}

pub(super) fn started_by(values: &[Value]) -> Option<Value> {
    let (left, right) = both(values)?;
    Some(Value::Bool(start_order(&left, &right)?.is_eq() && end_order(&left, &right)?.is_ge()))
}

pub(super) fn coincides(values: &[Value]) -> Option<Value> {
    let (left, right) = both(values)?;
    Some(Value::Bool(start_order(&left, &right)?.is_eq() && end_order(&left, &right)?.is_eq()))
}
