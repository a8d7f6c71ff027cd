//! `dw::Runtime`: failures. Functions that reach outside of the script are rejected by name.

use meantime_value::{Object, Value};

use super::super::eval::{Eval, Fault, FaultCode, Result};
use super::native::{Args, Native, Overload, Param};

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("fail", &[Overload::new(&[Param::TEXT], fail).optional(1)]),
    Native::new(
        "failIf",
        &[Overload::new(&[Param::ANY, Param::callback(1), Param::TEXT], fail_if).optional(1)],
    ),
    Native::new("try", &[Overload::new(&[Param::callback(0)], attempt)]),
    Native::new("orElse", &[Overload::new(&[Param::OBJECT, Param::callback(0)], or_else)]),
    Native::new("orElseTry", &[Overload::new(&[Param::OBJECT, Param::callback(0)], or_else_try)]),
    Native::new("version", &[Overload::new(&[], version)]),
];

fn fail(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let message = if args.has(0) { args.text(0).to_string() } else { "Error".to_owned() };
    Err(Fault::new(FaultCode::Failed, message))
}

fn fail_if(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let value = args.take(0);
    if eval.test(args.get(1), &mut [value.clone()])? {
        let message = if args.has(2) { args.text(2).to_string() } else { "Failed".to_owned() };
        return Err(Fault::new(FaultCode::Failed, message));
    }
    Ok(value)
}

fn attempt(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    try_call(eval, args.get(0))
}

/// The result of the function, or its failure. An exhausted budget is not caught.
fn try_call(eval: &mut Eval<'_>, callback: &Value) -> Result {
    let state = eval.save();
    let mut outcome = Object::default();
    match eval.call(callback, &mut []) {
        Ok(value) => {
            outcome.insert("success", true);
            outcome.insert("result", value);
        }
        Err(fault) if fault.code == FaultCode::Limit => return Err(fault),
        Err(fault) => {
            eval.restore(&state);
            let mut error = Object::default();
            error.insert("kind", kind_of(fault.code));
            error.insert("message", fault.message.as_str());
            error.insert("location", eval.location(fault.span));
            error.insert("stack", Vec::new());
            outcome.insert("success", false);
            outcome.insert("error", error);
        }
    }
    eval.object(outcome)
}

fn kind_of(code: FaultCode) -> &'static str {
    match code {
        FaultCode::Failed => "UserException",
        FaultCode::Arithmetic => "DivisionByZeroException",
        FaultCode::Coercion => "UnsupportedTypeCoercionException",
        FaultCode::NoCase => "MatchException",
        FaultCode::Missing => "KeyNotFoundException",
        FaultCode::Type => "UnexpectedFunctionCallTypesException",
        FaultCode::InvalidValue | FaultCode::Limit => "InvalidValueException",
    }
}

fn succeeded(args: &Args) -> Option<Value> {
    let outcome = args.object(0);
    let success = outcome.get("success").is_some_and(|value| *value == Value::Bool(true));
    success.then(|| outcome.get("result").cloned().unwrap_or_default())
}

fn or_else(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    match succeeded(args) {
        Some(result) => Ok(result),
        None => eval.call(args.get(1), &mut []),
    }
}

fn or_else_try(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    match succeeded(args) {
        Some(_) => Ok(args.take(0)),
        None => try_call(eval, args.get(1)),
    }
}

fn version(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    eval.text("2.12")
}
