//! Lists. Positions count from 1; negative ones count from the end.

use std::cmp::Ordering;

use meantime_value::{Number, Value};

use super::logic::items;
use super::text::position;
use crate::eval::Evaluator;
use crate::eval::compare::equal;
use crate::foreign::Function;
use crate::problem::EvaluationError;

type Result<T> = std::result::Result<T, EvaluationError>;

/// A list; a single value counts as a list of one.
fn list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items.to_vec()),
        Value::Null => None,
        other => Some(vec![other.clone()]),
    }
}

fn is_same(left: &Value, right: &Value) -> bool {
    equal(left, right) == Some(true)
}

/// Whether a value is in a list; counts the comparisons.
fn holds(evaluator: &mut Evaluator<'_>, items: &[Value], wanted: &Value) -> Result<bool> {
    for item in items {
        evaluator.spend(1)?;
        if matches!(item, Value::Array(_) | Value::Object(_) | Value::Foreign(_)) {
            evaluator.visit(item)?;
        }
        if is_same(item, wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn contains(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let [items, wanted] = values else { return Ok(None) };
    let Some(items) = list(items) else { return Ok(None) };
    Ok(Some(Value::Bool(holds(evaluator, &items, wanted)?)))
}

pub(super) fn count(values: &[Value]) -> Option<Value> {
    let [items] = values else { return None };
    Some(Value::from(list(items)?.len()))
}

pub(super) fn is_empty(values: &[Value]) -> Option<Value> {
    let is_empty = match values {
        [Value::Array(items)] => items.is_empty(),
        [Value::Text(text)] => text.is_empty(),
        [Value::Object(object)] => object.len() == 0,
        _ => return None,
    };
    Some(Value::Bool(is_empty))
}

pub(super) fn append(values: &[Value]) -> Option<Value> {
    let (first, rest) = values.split_first()?;
    let mut items = list(first)?;
    items.extend_from_slice(rest);
    Some(Value::from(items))
}

pub(super) fn concatenate(values: &[Value]) -> Option<Value> {
    let lists: Option<Vec<Vec<Value>>> = values.iter().map(list).collect();
    Some(Value::from(lists?.concat()))
}

pub(super) fn insert_before(values: &[Value]) -> Option<Value> {
    let [items, Value::Number(at), item] = values else { return None };
    let mut items = list(items)?;
    let item_index = position(at, items.len()).filter(|item_index| *item_index <= items.len())?;
    items.insert(item_index, item.clone());
    Some(Value::from(items))
}

pub(super) fn remove(values: &[Value]) -> Option<Value> {
    let [items, Value::Number(at)] = values else { return None };
    let mut items = list(items)?;
    let item_index = position(at, items.len()).filter(|item_index| *item_index < items.len())?;
    items.remove(item_index);
    Some(Value::from(items))
}

/// Replaces by position, or by a function that selects.
pub(super) fn replace(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Value> {
    let [first, which, item] = values else {
        return Ok(evaluator.null(|| "wrong arguments of `list replace`".to_owned()));
    };
    let Some(mut items) = list(first) else { return Ok(Value::Null) };
    match which {
        Value::Number(at) => {
            let item_index =
                position(at, items.len()).and_then(|item_index| items.get_mut(item_index));
            match item_index {
                Some(item_index) => *item_index = item.clone(),
                None => return Ok(evaluator.null(|| format!("there is no item {at}"))),
            }
        }
        Value::Foreign(foreign) => {
            let Some(function) = foreign.get::<Function>().cloned() else { return Ok(Value::Null) };
            for item_index in &mut items {
                let arguments = vec![item_index.clone(), item.clone()];
                if evaluator.invoke(&function, arguments)? == Value::Bool(true) {
                    *item_index = item.clone();
                }
            }
        }
        _ => return Ok(Value::Null),
    }
    Ok(Value::from(items))
}

pub(super) fn reverse(values: &[Value]) -> Option<Value> {
    let [items] = values else { return None };
    let mut items = list(items)?;
    items.reverse();
    Some(Value::from(items))
}

pub(super) fn index_of(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let [first, wanted] = values else { return Ok(None) };
    let Some(items) = list(first) else { return Ok(None) };
    evaluator.visit(first)?;
    let found = items.iter().enumerate().filter(|(_, item)| is_same(item, wanted));
    let indices = found.map(|(index, _)| Value::from(index.saturating_add(1)));
    Ok(Some(Value::from(indices.collect::<Vec<_>>())))
}

pub(super) fn union(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let lists: Option<Vec<Vec<Value>>> = values.iter().map(list).collect();
    match lists {
        Some(lists) => unique(evaluator, lists.concat()).map(Some),
        None => Ok(None),
    }
}

pub(super) fn distinct(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let [items] = values else { return Ok(None) };
    match list(items) {
        Some(items) => unique(evaluator, items).map(Some),
        None => Ok(None),
    }
}

fn unique(evaluator: &mut Evaluator<'_>, items: Vec<Value>) -> Result<Value> {
    let mut found: Vec<Value> = Vec::new();
    for item in items {
        if !holds(evaluator, &found, &item)? {
            found.push(item);
        }
    }
    Ok(Value::from(found))
}

pub(super) fn duplicates(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let [items] = values else { return Ok(None) };
    let Some(items) = list(items) else { return Ok(None) };
    let mut found: Vec<Value> = Vec::new();
    let mut rest = items.as_slice();
    while let Some((item, others)) = rest.split_first() {
        if holds(evaluator, others, item)? && !holds(evaluator, &found, item)? {
            found.push(item.clone());
        }
        rest = others;
    }
    Ok(Some(Value::from(found)))
}

pub(super) fn flatten(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    fn into(evaluator: &mut Evaluator<'_>, items: &[Value], flat: &mut Vec<Value>) -> Result<()> {
        for item in items {
            evaluator.spend(1)?;
            match item {
                Value::Array(inner) => into(evaluator, inner, flat)?,
                other => {
                    evaluator.allocate_items(1)?;
                    flat.push(other.clone());
                }
            }
        }
        Ok(())
    }
    let [items] = values else { return Ok(None) };
    let Some(items) = list(items) else { return Ok(None) };
    let mut flat = Vec::new();
    into(evaluator, &items, &mut flat)?;
    Ok(Some(Value::from(flat)))
}

pub(super) fn sublist(values: &[Value]) -> Option<Value> {
    let (items, start, length) = match values {
        [items, Value::Number(start)] => (items, start, None),
        [items, Value::Number(start), Value::Number(length)] => (items, start, Some(length)),
        _ => return None,
    };
    let items = list(items)?;
    let from = position(start, items.len()).filter(|from| *from < items.len().max(1))?;
    let rest = items.len().saturating_sub(from);
    let count = match length {
        Some(length) => usize::try_from(length.to_i64()?).ok().filter(|count| *count <= rest)?,
        None => rest,
    };
    Some(Value::from(items.into_iter().skip(from).take(count).collect::<Vec<_>>()))
}

pub(super) fn partition(values: &[Value]) -> Option<Value> {
    let [items, Value::Number(size)] = values else { return None };
    let size = usize::try_from(size.to_i64()?).ok().filter(|size| *size > 0)?;
    let items = list(items)?;
    let parts: Vec<Value> = items.chunks(size).map(|part| Value::from(part.to_vec())).collect();
    Some(Value::from(parts))
}

/// Sorts with a comparison function, stably; without one, by the natural order.
pub(super) fn sort(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Value> {
    let Some(mut sorted) = values.first().and_then(list) else { return Ok(Value::Null) };
    let function = match values.get(1) {
        None => None,
        Some(Value::Foreign(foreign)) => foreign.get::<Function>().cloned(),
        Some(_) => return Ok(evaluator.null(|| "`sort` needs a function".to_owned())),
    };
    let Some(function) = function else {
        // Every item is compared with as many others as a binary search needs.
        let rounds = u64::from(sorted.len().max(2).ilog2());
        for value in values {
            let extent = evaluator.visit(value)?;
            evaluator.spend(extent.ops.saturating_mul(rounds))?;
        }
        sorted.sort_by(|left, right| {
            crate::eval::compare::order(left, right).unwrap_or(Ordering::Equal)
        });
        return Ok(Value::from(sorted));
    };
    // A merge sort of our own: every step may call the function, and the function may fail.
    let merged = merge_sort(evaluator, &function, sorted)?;
    Ok(Value::from(merged))
}

fn merge_sort(
    evaluator: &mut Evaluator<'_>,
    function: &Function,
    mut items: Vec<Value>,
) -> Result<Vec<Value>> {
    if items.len() < 2 {
        return Ok(items);
    }
    let right = items.split_off(items.len() / 2);
    let left = merge_sort(evaluator, function, items)?;
    let right = merge_sort(evaluator, function, right)?;
    let mut merged = Vec::with_capacity(left.len().saturating_add(right.len()));
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
        let arguments = vec![second.clone(), first.clone()];
        let second_first = evaluator.invoke(function, arguments)? == Value::Bool(true);
        merged.extend(if second_first { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}

/// Numbers of a list or of the arguments.
pub(super) fn numbers(values: &[Value]) -> Option<Vec<Number>> {
    let items = items(values)?;
    let number = |item: &Value| match item {
        Value::Number(number) => Some(number.clone()),
        _ => None,
    };
    items.iter().map(number).collect()
}
