//! `dw::util::Math`.
//!
//! Computed in binary floating point, with an implementation in Rust instead of the host's C
//! library, so that results are the same on every machine.

use meantime_value::{Number, NumberError, Value};

use super::super::eval::{Eval, Result};
use super::native::{Args, Constant, Native, Overload, Param};

const ONE_PARAM: &[Param] = &[Param::NUMBER];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("sin", &[Overload::new(ONE_PARAM, sin)]),
    Native::new("cos", &[Overload::new(ONE_PARAM, cos)]),
    Native::new("tan", &[Overload::new(ONE_PARAM, tan)]),
    Native::new("asin", &[Overload::new(ONE_PARAM, asin)]),
    Native::new("acos", &[Overload::new(ONE_PARAM, acos)]),
    Native::new("atan", &[Overload::new(ONE_PARAM, atan)]),
    Native::new("log10", &[Overload::new(ONE_PARAM, log10)]),
    Native::new("logn", &[Overload::new(ONE_PARAM, logn)]),
    Native::new("toDegrees", &[Overload::new(ONE_PARAM, to_degrees)]),
    Native::new("toRadians", &[Overload::new(ONE_PARAM, to_radians)]),
];

pub(super) const CONSTANTS: &[Constant] = &[("PI", pi_value), ("E", e_value)];

fn pi() -> Number {
    "3.14159265358979323846".parse().unwrap_or(Number::ZERO)
}

fn pi_value() -> Value {
    Value::Number(pi())
}

fn e_value() -> Value {
    Value::Number("2.7182818284590452354".parse().unwrap_or(Number::ZERO))
}

/// Null where the function is not defined.
fn through_float(args: &Args, compute: fn(f64) -> f64) -> Result {
    match Number::from_f64(compute(args.number(0).to_f64())) {
        Ok(number) => Ok(Value::Number(number)),
        Err(NumberError::NotANumber) => Ok(Value::Null),
        Err(error) => Err(error.into()),
    }
}

fn sin(_: &mut Eval<'_>, args: &mut Args) -> Result {
    through_float(args, libm::sin)
}

fn cos(_: &mut Eval<'_>, args: &mut Args) -> Result {
    through_float(args, libm::cos)
}

fn tan(_: &mut Eval<'_>, args: &mut Args) -> Result {
    through_float(args, libm::tan)
}

fn asin(_: &mut Eval<'_>, args: &mut Args) -> Result {
    through_float(args, libm::asin)
}

fn acos(_: &mut Eval<'_>, args: &mut Args) -> Result {
    through_float(args, libm::acos)
}

fn atan(_: &mut Eval<'_>, args: &mut Args) -> Result {
    through_float(args, libm::atan)
}

fn log10(_: &mut Eval<'_>, args: &mut Args) -> Result {
    through_float(args, libm::log10)
}

fn logn(_: &mut Eval<'_>, args: &mut Args) -> Result {
    through_float(args, libm::log)
}

fn to_degrees(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Number(args.number(0).mul(&Number::Int(180))?.div(&pi())?))
}

fn to_radians(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Number(args.number(0).div(&Number::Int(180))?.mul(&pi())?))
}
