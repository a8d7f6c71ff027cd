//! A compiled expression and its evaluation.

use meantime_core::Timestamp;
use meantime_value::Value;

use super::eval::Evaluator;
use super::problem::{EvaluationError, SyntaxError};
use super::syntax::{Expr, parse};

/// A compiled FEEL expression.
#[derive(Debug)]
pub struct Program {
    source: String,
    root: Expr,
}

/// What an evaluation may use besides its variables.
#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// The current time; without it `now()` and `today()` are null.
    pub now: Option<Timestamp>,
    /// The budget of operations.
    pub ops: u64,
    /// The seed of random numbers.
    pub seed: u64,
}

/// The result of an evaluation, and its cost.
#[derive(Debug)]
pub struct Evaluation {
    /// The value.
    pub value: Result<Value, EvaluationError>,
    /// Operations used.
    pub ops: u64,
    /// The first reason for a null during the evaluation, such as an unknown variable.
    pub reason: Option<String>,
}

/// Compiles an expression.
pub fn compile(source: &str) -> Result<Program, SyntaxError> {
    Ok(Program { root: parse(source)?, source: source.to_owned() })
}

impl Program {
    /// The text it was made from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Evaluates with variables by name.
    pub fn evaluate(
        &self,
        variables: &dyn Fn(&str) -> Option<Value>,
        environment: &Environment,
    ) -> Evaluation {
        let mut evaluator = Evaluator::new(variables, environment);
        let mut value = evaluator.evaluate(&self.root);
        // The caller copies or writes the whole value.
        if let Ok(found) = &value
            && let Err(error) = evaluator.charge_passed_value(found)
        {
            value = Err(error);
        }
        Evaluation { value, ops: evaluator.ops(), reason: evaluator.into_null_reason() }
    }
}
