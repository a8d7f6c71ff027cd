//! `for`, `some`, `every`.

use std::sync::Arc;

use meantime_value::{Array, Value};

use super::evaluator::{Evaluator, Result};
use crate::foreign::interval;
use crate::syntax::{Expr, Iteration};

impl Evaluator<'_> {
    pub(super) fn repeat(&mut self, iterations: &[Iteration], body: &Expr) -> Result {
        let mut results = Arc::new(Array::default());
        let outer = self.names.clone();
        let done = self.each(iterations, &mut |it| {
            // `partial` is the list of results so far. It is released before the next value is
            // added, so that the list grows in place.
            let names = it.names.clone();
            it.names = names.with("partial", Value::Array(Arc::clone(&results)));
            let value = it.evaluate(body)?;
            it.names = names;
            it.allocate_items(1)?;
            if Arc::strong_count(&results) > 1 {
                // Another reference keeps the list as it was, so it is copied.
                it.spend(results.len() as u64 / 8)?;
                it.allocate_items(results.len())?;
            }
            Arc::make_mut(&mut results).push(value);
            Ok(true)
        });
        self.names = outer;
        if done? { Ok(Value::Array(results)) } else { Ok(Value::Null) }
    }

    /// Three-valued: a value that is neither true nor false leaves the result undecided.
    pub(super) fn quantify(
        &mut self,
        iterations: &[Iteration],
        condition: &Expr,
        some: bool,
    ) -> Result {
        let mut answer = Value::Bool(!some);
        let outer = self.names.clone();
        let done = self.each(iterations, &mut |it| {
            match it.evaluate(condition)? {
                Value::Bool(value) if value == some => {
                    answer = Value::Bool(some);
                    return Ok(false);
                }
                Value::Bool(_) => {}
                _ => answer = Value::Null,
            }
            Ok(true)
        });
        self.names = outer;
        match (done?, &answer) {
            (true, _) | (false, Value::Bool(_)) => Ok(answer),
            (false, _) => Ok(Value::Null),
        }
    }

    /// Visits every combination; the last iteration varies fastest. Returns false if it stopped
    /// early.
    fn each(
        &mut self,
        iterations: &[Iteration],
        visit: &mut dyn FnMut(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        let Some((first, rest)) = iterations.split_first() else { return visit(self) };
        let Some(values) = self.values_of(first)? else { return Ok(false) };
        let outer = self.names.clone();
        for value in values {
            self.spend(1)?;
            self.names = outer.with(&first.name, value);
            if !self.each(rest, visit)? {
                return Ok(false);
            }
        }
        self.names = outer;
        Ok(true)
    }

    fn values_of(&mut self, iteration: &Iteration) -> Result<Option<Vec<Value>>> {
        let from = self.evaluate(&iteration.from)?;
        if let Some(to) = &iteration.to {
            let to = self.evaluate(to)?;
            return self.run(&from, &to);
        }
        Ok(match &from {
            Value::Array(items) => {
                self.spend(items.len() as u64 / 8)?;
                Some(items.to_vec())
            }
            Value::Null => {
                self.null(|| "null cannot be iterated".to_owned());
                None
            }
            other => match interval(other) {
                Some(interval) => {
                    let (start, end) = (interval.start.clone(), interval.end.clone());
                    self.run(&start, &end)?
                }
                None => Some(vec![other.clone()]),
            },
        })
    }

    /// The integers from one to another, up or down.
    fn run(&mut self, from: &Value, to: &Value) -> Result<Option<Vec<Value>>> {
        let (Value::Number(from), Value::Number(to)) = (from, to) else {
            self.null(|| "only numbers can be counted".to_owned());
            return Ok(None);
        };
        let (Some(from), Some(to)) = (from.to_i64(), to.to_i64()) else { return Ok(None) };
        self.spend(from.abs_diff(to))?;
        self.allocate_items(usize::try_from(from.abs_diff(to)).unwrap_or(usize::MAX))?;
        Ok(Some(if from <= to {
            (from..=to).map(Value::from).collect()
        } else {
            (to..=from).rev().map(Value::from).collect()
        }))
    }
}
