//! Minimum, maximum, sums and means, of a list or of the arguments.

use std::cmp::Ordering;

use meantime_value::{Number, Value};

use super::list::numbers;
use super::logic::items;
use crate::eval::Evaluator;
use crate::eval::compare::order;
use crate::problem::EvaluationError;

type Result<T> = std::result::Result<T, EvaluationError>;

/// Operations of a product with a number of the largest size.
const OPS_PER_LONG_PRODUCT: u64 = 4_000;

/// Counts the operations for all values, then runs the function.
fn counted(
    evaluator: &mut Evaluator<'_>,
    values: &[Value],
    plain: fn(&[Value]) -> Option<Value>,
) -> Result<Option<Value>> {
    for value in values {
        evaluator.visit(value)?;
    }
    Ok(plain(values))
}

/// Like [`counted`], for functions that multiply every number with the result so far.
fn multiplied(
    evaluator: &mut Evaluator<'_>,
    values: &[Value],
    plain: fn(&[Value]) -> Option<Value>,
) -> Result<Option<Value>> {
    let long = |items: &[Value]| {
        items.iter().filter(|it| matches!(it, Value::Number(Number::Big(_)))).count()
    };
    for value in values {
        let count = match value {
            Value::Array(items) => long(items),
            other => long(std::slice::from_ref(other)),
        };
        evaluator.spend((count as u64).saturating_mul(OPS_PER_LONG_PRODUCT))?;
    }
    counted(evaluator, values, plain)
}

pub(super) fn least(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    counted(evaluator, values, least_of)
}

fn least_of(values: &[Value]) -> Option<Value> {
    extreme(values, Ordering::Less)
}

pub(super) fn greatest(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    counted(evaluator, values, greatest_of)
}

fn greatest_of(values: &[Value]) -> Option<Value> {
    extreme(values, Ordering::Greater)
}

fn extreme(values: &[Value], wanted: Ordering) -> Option<Value> {
    let items = items(values)?;
    let (first, rest) = items.split_first()?;
    let mut best = first;
    for item in rest {
        if order(item, best)? == wanted {
            best = item;
        }
    }
    Some(best.clone())
}

pub(super) fn sum(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    counted(evaluator, values, sum_of)
}

fn sum_of(values: &[Value]) -> Option<Value> {
    let numbers = numbers(values).filter(|numbers| !numbers.is_empty())?;
    total(&numbers).map(Value::Number)
}

fn total(numbers: &[Number]) -> Option<Number> {
    numbers.iter().try_fold(Number::ZERO, |sum, number| sum.add(number).ok())
}

pub(super) fn product(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    multiplied(evaluator, values, product_of)
}

fn product_of(values: &[Value]) -> Option<Value> {
    let numbers = numbers(values).filter(|numbers| !numbers.is_empty())?;
    let one = Number::from(1_i64);
    numbers.iter().try_fold(one, |product, number| product.mul(number).ok()).map(Value::Number)
}

pub(super) fn mean(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    counted(evaluator, values, mean_of)
}

fn mean_of(values: &[Value]) -> Option<Value> {
    average(&numbers(values)?).map(Value::Number)
}

fn average(numbers: &[Number]) -> Option<Number> {
    total(numbers)?.div(&Number::from(numbers.len())).ok()
}

pub(super) fn median(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    counted(evaluator, values, median_of)
}

fn median_of(values: &[Value]) -> Option<Value> {
    let mut numbers = numbers(values).filter(|numbers| !numbers.is_empty())?;
    numbers.sort();
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        return numbers.get(middle).cloned().map(Value::Number);
    }
    average(numbers.get(middle.checked_sub(1)?..=middle)?).map(Value::Number)
}

/// The most frequent numbers, in ascending order.
pub(super) fn mode(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    counted(evaluator, values, mode_of)
}

fn mode_of(values: &[Value]) -> Option<Value> {
    let mut numbers = numbers(values)?;
    numbers.sort();
    let mut counts: Vec<(Number, usize)> = Vec::new();
    for number in numbers {
        match counts.last_mut() {
            Some((last, count)) if *last == number => *count += 1,
            _ => counts.push((number, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let modes = counts.into_iter().filter(|(_, count)| *count == most);
    Some(Value::from(modes.map(|(number, _)| Value::Number(number)).collect::<Vec<_>>()))
}

/// The standard deviation of a sample.
pub(super) fn deviation(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    multiplied(evaluator, values, deviation_of)
}

fn deviation_of(values: &[Value]) -> Option<Value> {
    let numbers = numbers(values).filter(|numbers| numbers.len() > 1)?;
    let mean = average(&numbers)?;
    let squares: Option<Vec<Number>> = numbers
        .iter()
        .map(|number| {
            let difference = number.sub(&mean).ok()?;
            difference.mul(&difference).ok()
        })
        .collect();
    let variance = total(&squares?)?.div(&Number::from(numbers.len().saturating_sub(1))).ok()?;
    variance.sqrt().ok().map(Value::Number)
}
