//! Boolean functions.

use meantime_value::Value;

use crate::eval::Evaluator;
use crate::problem::EvaluationError;

pub(super) fn not(values: &[Value]) -> Option<Value> {
    match values {
        [Value::Bool(value)] => Some(Value::Bool(!value)),
        [_] => Some(Value::Null),
        _ => None,
    }
}

/// Whether two values are equal and of the same kind.
pub(super) fn is(
    evaluator: &mut Evaluator<'_>,
    values: &[Value],
) -> Result<Option<Value>, EvaluationError> {
    let [left, right] = values else { return Ok(None) };
    evaluator.visit(left)?;
    Ok(Some(Value::Bool(left.kind() == right.kind() && left == right)))
}

/// Returns the value if the condition holds; otherwise the evaluation fails.
pub(super) fn assert(
    _: &mut Evaluator<'_>,
    values: &[Value],
) -> Result<Option<Value>, EvaluationError> {
    match values {
        [value, Value::Bool(true)] | [value, Value::Bool(true), _] => Ok(Some(value.clone())),
        [_, _, Value::Text(cause)] => Err(EvaluationError::AssertionFailed(cause.to_string())),
        [_, _] => {
            let text = "the condition is not fulfilled".to_owned();
            Err(EvaluationError::AssertionFailed(text))
        }
        _ => Ok(None),
    }
}

pub(super) fn is_defined(values: &[Value]) -> Option<Value> {
    let [value] = values else { return None };
    Some(Value::Bool(!value.is_null()))
}

pub(super) fn all(values: &[Value]) -> Option<Value> {
    let items = items(values)?;
    let is = |wanted: bool| move |item: &Value| *item == Value::Bool(wanted);
    if items.iter().any(is(false)) {
        return Some(Value::Bool(false));
    }
    Some(if items.iter().all(is(true)) { Value::Bool(true) } else { Value::Null })
}

pub(super) fn any(values: &[Value]) -> Option<Value> {
    let items = items(values)?;
    let is = |wanted: bool| move |item: &Value| *item == Value::Bool(wanted);
    if items.iter().any(is(true)) {
        return Some(Value::Bool(true));
    }
    Some(if items.iter().all(is(false)) { Value::Bool(false) } else { Value::Null })
}

pub(super) fn get_or_else(values: &[Value]) -> Option<Value> {
    let [value, default] = values else { return None };
    Some(if value.is_null() { default.clone() } else { value.clone() })
}

/// A list, or the arguments themselves.
pub(super) fn items(values: &[Value]) -> Option<Vec<Value>> {
    match values {
        [Value::Array(items)] => Some(items.to_vec()),
        [Value::Null] => None,
        values => Some(values.to_vec()),
    }
}
