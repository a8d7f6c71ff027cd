//! The evaluator: one arm per kind of expression.

use std::sync::Arc;

use meantime_core::{SplitMix64, pause_point};
use meantime_value::{Foreign, Kind, Object, Value, ValueSize};

use super::names::LexicalScope;
use super::{arithmetic, compare, property};
use crate::foreign::{Function, Interval, interval_text};
use crate::library;
use crate::problem::EvaluationError;
use crate::program::Environment;
use crate::syntax::{Comparison, Expr, UnaryTest};

/// The largest depth of an evaluation.
const MAX_DEPTH: u32 = 400;

/// The largest nesting of lists and contexts.
const MAX_NESTING: u32 = 256;

/// Bytes of new texts and lists, counted when they are created.
const MAX_BYTES: u64 = 64 << 20;

pub(crate) type Result<T = Value> = std::result::Result<T, EvaluationError>;

/// One evaluation.
pub(crate) struct Evaluator<'a> {
    variables: &'a dyn Fn(&str) -> Option<Value>,
    pub(crate) environment: &'a Environment,
    pub(super) names: LexicalScope,
    ops: u64,
    bytes: u64,
    depth: u32,
    /// How often random bits were drawn.
    drawn: u64,
    reason: Option<String>,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(
        variables: &'a dyn Fn(&str) -> Option<Value>,
        environment: &'a Environment,
    ) -> Self {
        let names = LexicalScope::default();
        Self { variables, environment, names, ops: 0, bytes: 0, depth: 0, drawn: 0, reason: None }
    }

    pub(crate) fn ops(&self) -> u64 {
        self.ops
    }

    pub(crate) fn into_null_reason(self) -> Option<String> {
        self.reason
    }

    /// Null, with its reason.
    pub(crate) fn null(&mut self, reason: impl FnOnce() -> String) -> Value {
        if self.reason.is_none() {
            self.reason = Some(reason());
        }
        Value::Null
    }

    /// Counts operations.
    pub(crate) fn spend(&mut self, ops: u64) -> Result<()> {
        let ops = self.ops.saturating_add(ops);
        pause_point::pass(self.ops, ops);
        self.ops = ops;
        if self.ops > self.environment.ops { Err(EvaluationError::TooLong) } else { Ok(()) }
    }

    /// Counts memory, before it is used.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_BYTES { Err(EvaluationError::TooLarge) } else { Ok(()) }
    }

    /// Counts the memory of a list.
    pub(crate) fn allocate_items(&mut self, count: usize) -> Result<()> {
        self.allocate((count as u64).saturating_mul(size_of::<Value>() as u64))
    }

    /// The remaining operations.
    pub(crate) fn left(&self) -> u64 {
        self.environment.ops.saturating_sub(self.ops)
    }

    /// Runs work that counts its own operations.
    pub(crate) fn counted<T>(&mut self, work: impl FnOnce(&mut u64) -> T) -> T {
        let mut left = self.left();
        let result = work(&mut left);
        self.ops = self.environment.ops.saturating_sub(left);
        result
    }

    /// Counts what the caller does with a result.
    pub(crate) fn charge_passed_value(&mut self, value: &Value) -> Result<()> {
        let extent = self.visit(value)?;
        self.allocate(extent.bytes)
    }

    /// Counts the visit of a whole value; shared parts count every time.
    pub(crate) fn visit(&mut self, value: &Value) -> Result<ValueSize> {
        let extent = ValueSize::of(value, self.left());
        self.spend(extent.ops)?;
        Ok(extent)
    }

    pub(crate) fn evaluate(&mut self, expr: &Expr) -> Result {
        self.spend(1)?;
        if self.depth >= MAX_DEPTH {
            return Err(EvaluationError::TooDeep);
        }
        self.depth += 1;
        let value = self.value(expr);
        self.depth -= 1;
        // Comparing, writing and freeing a value takes a stack frame for each level.
        match value {
            Ok(value) if value.depth() > MAX_NESTING => Err(EvaluationError::TooDeep),
            result => result,
        }
    }

    fn value(&mut self, expr: &Expr) -> Result {
        Ok(match expr {
            Expr::Literal(value) => value.clone(),
            Expr::Name(name) => self.name(name)?,
            Expr::List(items) => {
                self.allocate_items(items.len())?;
                let values: Result<Vec<Value>> =
                    items.iter().map(|item| self.evaluate(item)).collect();
                Value::from(values?)
            }
            Expr::Context(entries) => self.context(entries)?,
            Expr::Interval { start, end, start_included, end_included } => {
                let (start, end) = (self.evaluate(start)?, self.evaluate(end)?);
                let (start_included, end_included) = (*start_included, *end_included);
                interval_text(Interval { start, end, start_included, end_included })
            }
            Expr::Negate(inner) => {
                let value = self.evaluate(inner)?;
                let negated = arithmetic::negate(&value);
                negated.unwrap_or_else(|| self.null(|| format!("-{} makes no sense", kind(&value))))
            }
            Expr::Arithmetic(operator, left, right) => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                self.spend(arithmetic::cost(&left, &right))?;
                self.allocate(arithmetic::bytes(&left, &right))?;
                let result = arithmetic::compute(*operator, &left, &right);
                result.unwrap_or_else(|| {
                    let (left, right) = (kind(&left), kind(&right));
                    self.null(|| format!("{operator:?} of {left} and {right} makes no sense"))
                })
            }
            Expr::Compare(comparison, left, right) => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                self.compared(*comparison, &left, &right)?
            }
            Expr::And(left, right) => self.both(left, right)?,
            Expr::Or(left, right) => self.either(left, right)?,
            Expr::Between { value, low, high } => {
                let value = self.evaluate(value)?;
                let (low, high) = (self.evaluate(low)?, self.evaluate(high)?);
                let above = self.compared(Comparison::GreaterOrEqual, &value, &low)?;
                let below = self.compared(Comparison::LessOrEqual, &value, &high)?;
                conjunction(&above, &below)
            }
            Expr::In { value, tests } => self.is_in(value, tests)?,
            Expr::InstanceOf { value, kind } => {
                let value = self.evaluate(value)?;
                library::is_instance(&value, kind).map_or(Value::Null, Value::Bool)
            }
            Expr::If { condition, yes, no } => match self.evaluate(condition)? {
                Value::Bool(true) => self.evaluate(yes)?,
                _ => self.evaluate(no)?,
            },
            Expr::For { iterations, body } => self.repeat(iterations, body)?,
            Expr::Some { iterations, condition } => self.quantify(iterations, condition, true)?,
            Expr::Every { iterations, condition } => self.quantify(iterations, condition, false)?,
            Expr::Function { parameters, body } => {
                let (parameters, body) = (parameters.clone(), Arc::clone(body));
                let names = self.names.clone();
                Value::Foreign(Foreign::new(Function::Written { parameters, body, names }))
            }
            Expr::Call { function, arguments } => self.call(function, arguments)?,
            Expr::Path { value, name } => {
                let value = self.evaluate(value)?;
                self.path(&value, name)?
            }
            Expr::Filter { value, condition } => self.filter(value, condition)?,
        })
    }

    fn name(&mut self, name: &str) -> Result {
        let (found, looked_at) = self.names.get(name);
        self.spend(looked_at / 8)?;
        Ok(match found.or_else(|| (self.variables)(name)) {
            Some(value) => value,
            None => self.null(|| format!("there is no variable `{name}`")),
        })
    }

    /// The function of a name that is called: one that the expression defines, otherwise one of the
    /// library. A variable that is not a function does not hide it.
    pub(super) fn callee(&mut self, name: &str) -> Result {
        let (found, looked_at) = self.names.get(name);
        self.spend(looked_at / 8)?;
        let is_function = |value: &Value| value.kind() == Kind::Function;
        let found = found.filter(is_function).or_else(|| library::function(name));
        Ok(found.unwrap_or_default())
    }

    /// Random bits; the same seed gives the same ones.
    pub(crate) fn random(&mut self) -> u64 {
        self.drawn += 1;
        SplitMix64::nth(self.environment.seed, self.drawn)
    }

    /// Entries see those before them.
    fn context(&mut self, entries: &[(String, Expr)]) -> Result {
        let outer = self.names.clone();
        let mut object = Object::with_capacity(entries.len());
        for (key, expr) in entries {
            let value = self.evaluate(expr);
            let value = match value {
                Ok(value) => value,
                Err(error) => {
                    self.names = outer;
                    return Err(error);
                }
            };
            self.names = self.names.with(key, value.clone());
            self.spend(object.len() as u64 / 16)?;
            self.allocate_items(2)?;
            if object.get(key).is_none() {
                object.insert(key, value);
            }
        }
        self.names = outer;
        Ok(Value::object(object))
    }

    pub(super) fn compared(&mut self, how: Comparison, left: &Value, right: &Value) -> Result {
        // Two values are compared only as far as they are alike, so the smaller one limits the
        // cost.
        let most = ValueSize::of(left, self.left());
        self.spend(ValueSize::of(right, most.ops).ops.min(most.ops))?;
        Ok(match compare::compare(how, left, right) {
            Some(result) => Value::Bool(result),
            None => {
                let (left, right) = (kind(left), kind(right));
                self.null(|| format!("{left} and {right} cannot be compared"))
            }
        })
    }

    fn both(&mut self, left: &Expr, right: &Expr) -> Result {
        let left = self.evaluate(left)?;
        if left == Value::Bool(false) {
            return Ok(left);
        }
        let right = self.evaluate(right)?;
        Ok(conjunction(&left, &right))
    }

    fn either(&mut self, left: &Expr, right: &Expr) -> Result {
        let left = self.evaluate(left)?;
        if left == Value::Bool(true) {
            return Ok(left);
        }
        let right = self.evaluate(right)?;
        Ok(match (&left, &right) {
            (_, Value::Bool(true)) => Value::Bool(true),
            (Value::Bool(false), Value::Bool(false)) => Value::Bool(false),
            _ => Value::Null,
        })
    }

    fn is_in(&mut self, value: &Expr, tests: &[UnaryTest]) -> Result {
        let value = self.evaluate(value)?;
        let mut result = Value::Bool(false);
        for test in tests {
            let passed = match test {
                UnaryTest::Compare(how, expr) => {
                    let other = self.evaluate(expr)?;
                    self.compared(*how, &value, &other)?
                }
                UnaryTest::Matches(expr) => {
                    let other = self.evaluate(expr)?;
                    self.visit(&other)?;
                    compare::matches(&value, &other).map_or(Value::Null, Value::Bool)
                }
            };
            match passed {
                Value::Bool(true) => return Ok(passed),
                Value::Null => result = Value::Null,
                _ => {}
            }
        }
        Ok(result)
    }

    pub(super) fn path(&mut self, value: &Value, name: &str) -> Result {
        if let Value::Array(items) = value {
            self.spend(items.len() as u64)?;
            self.allocate_items(items.len())?;
            let found: Result<Vec<Value>> =
                items.iter().map(|item| self.path(item, name)).collect();
            return Ok(Value::from(found?));
        }
        Ok(match property::get(value, name) {
            Some(found) => found,
            None => {
                let kind = kind(value);
                self.null(|| format!("{kind} has no `{name}`"))
            }
        })
    }
}

/// Three-valued conjunction.
fn conjunction(left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Bool(true), Value::Bool(true)) => Value::Bool(true),
        _ => Value::Null,
    }
}

/// The kind of a value, for messages.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Text(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a context",
        Value::Date(_) => "a date",
        Value::LocalTime(_) | Value::Time(_) => "a time",
        Value::LocalDateTime(_) | Value::DateTime(_) => "a date and time",
        Value::Period(_) => "a duration",
        _ => "a function or range",
    }
}
