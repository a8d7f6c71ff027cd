//! Equality in the sense of JSON Schema: numbers by value, objects without order.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use meantime_value::Value;

use super::evaluate::{Budget, BudgetExceeded};

/// Whether two values are equal.
pub(super) fn is_same(
    left: &Value,
    right: &Value,
    budget: &mut Budget,
) -> Result<bool, BudgetExceeded> {
    budget.spend(1)?;
    Ok(match (left.bare(), right.bare()) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Number(left), Value::Number(right)) => {
            budget.spend_number(left)?;
            budget.spend_number(right)?;
            left == right
        }
        (Value::Text(left), Value::Text(right)) => {
            budget.spend(left.len().min(right.len()) as u64 / 64)?;
            left == right
        }
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right.iter()) {
                if !is_same(left, right, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Object(left), Value::Object(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for entry in left.entries() {
                budget.spend(right.len() as u64 / 8)?;
                let Some(other) = right.get(entry.key.name()) else { return Ok(false) };
                if !is_same(&entry.value, other, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        _ => false,
    })
}

/// Whether no two items are equal; equal values have the same canonical text.
pub(super) fn all_differ(items: &[Value], budget: &mut Budget) -> Result<bool, BudgetExceeded> {
    let mut seen = BTreeSet::new();
    // The most comparisons that one insertion into the set needs.
    let comparisons = u64::from(items.len().max(2).ilog2()).saturating_add(1);
    for item in items {
        let mut key = String::new();
        canonical(item, &mut key, budget)?;
        budget.spend((key.len() as u64 / 64).saturating_add(1).saturating_mul(comparisons))?;
        if !seen.insert(key) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn canonical(value: &Value, out: &mut String, budget: &mut Budget) -> Result<(), BudgetExceeded> {
    budget.spend(1)?;
    match value.bare() {
        Value::Bool(value) => out.push_str(if *value { "t" } else { "f" }),
        Value::Number(number) => {
            budget.spend_number(number)?;
            let (unscaled, scale) = number.to_parts();
            let digits = unscaled.to_string();
            let short = digits.trim_end_matches('0');
            let zeros = i64::try_from(digits.len().saturating_sub(short.len())).unwrap_or(i64::MAX);
            let scale = if short.is_empty() { 0 } else { scale.saturating_sub(zeros) };
            let _ = write!(out, "n{short}e{scale};");
        }
        Value::Text(text) => {
            budget.spend(text.len() as u64 / 64)?;
            let _ = write!(out, "s{}:{text}", text.len());
        }
        Value::Array(items) => {
            let _ = write!(out, "a{}[", items.len());
            for item in items.iter() {
                canonical(item, out, budget)?;
            }
        }
        Value::Object(object) => {
            let mut entries: Vec<_> = object.entries().iter().collect();
            budget.spend(entries.len() as u64)?;
            entries.sort_by(|left, right| left.key.name().cmp(right.key.name()));
            let _ = write!(out, "o{}{{", entries.len());
            for entry in entries {
                let name = entry.key.name();
                let _ = write!(out, "{}:{name}", name.len());
                canonical(&entry.value, out, budget)?;
            }
        }
        _ => out.push('0'),
    }
    Ok(())
}
