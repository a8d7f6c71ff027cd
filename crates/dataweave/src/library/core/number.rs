//! Numbers.

use bigdecimal::RoundingMode;
use meantime_value::{Number, Value};

use super::super::super::eval::{Eval, Fault, Result};
use super::super::native::{Args, Native, Overload, Param};

const ONE_PARAM: &[Param] = &[Param::NUMBER];
const TWO_PARAMS: &[Param] = &[Param::NUMBER, Param::NUMBER];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("abs", &[Overload::new(ONE_PARAM, abs)]),
    Native::new("ceil", &[Overload::new(ONE_PARAM, ceil)]),
    Native::new("floor", &[Overload::new(ONE_PARAM, floor)]),
    Native::new("round", &[Overload::new(ONE_PARAM, round)]),
    Native::new("sqrt", &[Overload::new(ONE_PARAM, sqrt)]),
    Native::new("mod", &[Overload::new(TWO_PARAMS, modulo)]),
    Native::new("pow", &[Overload::new(TWO_PARAMS, pow)]),
    Native::new("isInteger", &[Overload::new(ONE_PARAM, is_integer)]),
    Native::new("isDecimal", &[Overload::new(ONE_PARAM, is_decimal)]),
    Native::new("isEven", &[Overload::new(ONE_PARAM, is_even)]),
    Native::new("isOdd", &[Overload::new(ONE_PARAM, is_odd)]),
    Native::new("random", &[Overload::new(&[], random)]),
    Native::new("randomInt", &[Overload::new(ONE_PARAM, random_int)]),
];

fn abs(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Number(args.number(0).abs()))
}

fn ceil(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Number(args.number(0).round_to(0, RoundingMode::Ceiling)))
}

fn floor(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Number(args.number(0).round_to(0, RoundingMode::Floor)))
}

fn round(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Number(args.number(0).round_to(0, RoundingMode::HalfUp)))
}

fn sqrt(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Number(args.number(0).sqrt()?))
}

fn modulo(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.charge(args.number(0).pair_ops(&args.number(1)))?;
    Ok(Value::Number(args.number(0).rem(&args.number(1))?))
}

fn pow(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    // The size of the result is limited, and so is the work: a few multiplications of the longest
    // numbers.
    eval.charge(100)?;
    Ok(Value::Number(args.number(0).pow(&args.number(1))?))
}

fn is_integer(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(args.number(0).is_integer()))
}

fn is_decimal(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(!args.number(0).is_integer()))
}

fn divides_by_two(number: &Number) -> Result<bool> {
    Ok(number.rem(&Number::Int(2))?.is_zero())
}

fn is_even(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(divides_by_two(&args.number(0))?))
}

fn is_odd(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(!divides_by_two(&args.number(0))?))
}

/// A number from zero to below one, with 53 random bits.
fn fraction(eval: &mut Eval<'_>) -> f64 {
    const RANDOM_BITS: u32 = 53;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a floating point number exactly")]
    let of = |bits: u64| bits as f64;
    of(eval.random() >> (u64::BITS - RANDOM_BITS)) / of(1 << RANDOM_BITS)
}

fn random(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    let fraction = fraction(eval);
    Ok(Value::Number(Number::from_f64(fraction)?))
}

fn random_int(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let limit = args.int(0);
    let Ok(limit) = u64::try_from(limit) else {
        return Err(Fault::invalid("`randomInt` needs a limit above zero"));
    };
    let drawn = eval.random().checked_rem(limit).unwrap_or(0);
    Ok(Value::from(i64::try_from(drawn).unwrap_or(0)))
}
