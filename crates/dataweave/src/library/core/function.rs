//! Functions about functions, types and messages.

use std::sync::Arc;

use meantime_value::{Key, Kind, Object, Text, Value};

use super::super::super::eval::{Eval, Result};
use super::super::super::types::{Shape, Type};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::NULL_2;

const LOG_OVERLOADS: &[Overload] =
    &[Overload::new(&[Param::TEXT, Param::ANY], log), Overload::new(&[Param::ANY], log_bare)];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("then", &[NULL_2, Overload::new(&[Param::ANY, Param::callback(1)], then)]),
    Native::new(
        "onNull",
        &[
            Overload::new(&[Param::NULL, Param::callback(0)], on_null),
            Overload::new(&[Param::ANY, Param::callback(0)], not_null),
        ],
    ),
    Native::new("with", &[Overload::new(&[Param::FUNCTION, Param::callback(2)], with), NULL_2]),
    Native::new("log", LOG_OVERLOADS),
    Native::new("logInfo", LOG_OVERLOADS),
    Native::new("logDebug", LOG_OVERLOADS),
    Native::new("logWarn", LOG_OVERLOADS),
    Native::new("logError", LOG_OVERLOADS),
    Native::new("logWith", &[Overload::new(&[Param::ANY, Param::TEXT, Param::ANY], log_with)]),
    Native::new("typeOf", &[Overload::new(&[Param::ANY], type_of)]),
    Native::new(
        "xsiType",
        &[Overload::new(&[Param::TEXT, Param::only(Kind::Namespace)], xsi_type)],
    ),
];

fn then(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let value = args.take(0);
    eval.call(args.get(1), &mut [value])
}

fn on_null(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.call(args.get(1), &mut [])
}

fn not_null(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(args.take(0))
}

/// Calls a partial function, such as `replace`, with its last argument.
fn with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let last = args.take(1);
    eval.call(args.get(0), &mut [last])
}

fn log(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let value = args.take(1);
    eval.log(args.text(0), value.clone());
    Ok(value)
}

fn log_bare(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let value = args.take(0);
    eval.log(Text::from(""), value.clone());
    Ok(value)
}

fn log_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let value = args.take(2);
    eval.log(args.text(1), value.clone());
    Ok(value)
}

fn type_of(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let kind = args.get(0).kind();
    let shape = Shape::Kind(kind);
    let found = Type { name: Some(Text::from(kind.name())), shape, metadata: Object::default() };
    Ok(found.into_value())
}

fn xsi_type(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    const XSI_NAMESPACE: &str = "http://www.w3.org/2001/XMLSchema-instance";
    let Value::Namespace(namespace) = args.get(1) else { return Ok(Value::Null) };
    let xsi = meantime_value::Namespace { prefix: "xsi".into(), uri: XSI_NAMESPACE.into() };
    let detail = meantime_value::KeyDetail { namespace: Some(xsi), ..Default::default() };
    let mut object = Object::default();
    let name = eval.text(format!("{}:{}", namespace.prefix, args.text(0)))?;
    object.push(Key::with_detail("type", detail), name);
    Ok(Value::Object(Arc::new(object)))
}
