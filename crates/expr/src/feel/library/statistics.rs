//! Least, greatest, sums and means, of a list or of the arguments.

use std::cmp::Ordering;

use super::list::numbers;
use super::logic::items;
use crate::feel::eval::compare::order;
use crate::value::{Number, Value};

pub(super) fn least(values: &[Value]) -> Option<Value> {
    extreme(values, Ordering::Less)
}

pub(super) fn greatest(values: &[Value]) -> Option<Value> {
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

pub(super) fn sum(values: &[Value]) -> Option<Value> {
    let numbers = numbers(values).filter(|numbers| !numbers.is_empty())?;
    total(&numbers).map(Value::Number)
}

fn total(numbers: &[Number]) -> Option<Number> {
    numbers.iter().try_fold(Number::ZERO, |sum, number| sum.add(number).ok())
}

pub(super) fn product(values: &[Value]) -> Option<Value> {
    let numbers = numbers(values).filter(|numbers| !numbers.is_empty())?;
    let one = Number::from(1_i64);
    numbers.iter().try_fold(one, |product, number| product.mul(number).ok()).map(Value::Number)
}

pub(super) fn mean(values: &[Value]) -> Option<Value> {
    average(&numbers(values)?).map(Value::Number)
}

fn average(numbers: &[Number]) -> Option<Number> {
    total(numbers)?.div(&Number::from(numbers.len())).ok()
}

pub(super) fn median(values: &[Value]) -> Option<Value> {
    let mut numbers = numbers(values).filter(|numbers| !numbers.is_empty())?;
    numbers.sort();
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        return numbers.get(middle).cloned().map(Value::Number);
    }
    average(numbers.get(middle - 1..=middle)?).map(Value::Number)
}

/// The most frequent numbers, in ascending order.
pub(super) fn mode(values: &[Value]) -> Option<Value> {
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

/// The deviation of a sample.
pub(super) fn deviation(values: &[Value]) -> Option<Value> {
    let numbers = numbers(values).filter(|numbers| numbers.len() > 1)?;
    let mean = average(&numbers)?;
    let squares: Option<Vec<Number>> = numbers
        .iter()
        .map(|number| {
            let difference = number.sub(&mean).ok()?;
            difference.mul(&difference).ok()
        })
        .collect();
    let variance = total(&squares?)?.div(&Number::from(numbers.len() - 1)).ok()?;
    variance.sqrt().ok().map(Value::Number)
}
