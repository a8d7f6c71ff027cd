//! `dw::core::Numbers`: other bases.

use bigdecimal::num_bigint::BigInt;
use meantime_value::{Number, NumberError, Value};

use super::super::eval::{Eval, Fault, Result};
use super::native::{Args, Native, Overload, Param};
use super::null::NULL_1;

const TEXT_PARAMS: &[Param] = &[Param::TEXT];
const NUMBER_PARAMS: &[Param] = &[Param::NUMBER];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("fromBinary", &[Overload::new(TEXT_PARAMS, from_binary), NULL_1]),
    Native::new("fromHex", &[Overload::new(TEXT_PARAMS, from_hex), NULL_1]),
    Native::new("fromRadixNumber", &[Overload::new(&[Param::TEXT, Param::NUMBER], from_radix)]),
    Native::new("toBinary", &[Overload::new(NUMBER_PARAMS, to_binary), NULL_1]),
    Native::new("toHex", &[Overload::new(NUMBER_PARAMS, to_hex), NULL_1]),
    Native::new("toRadixNumber", &[Overload::new(&[Param::NUMBER, Param::NUMBER], to_radix)]),
];

fn from_binary(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    read(eval, &args.text(0), 2)
}

fn from_hex(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    read(eval, &args.text(0), 16)
}

fn from_radix(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    read(eval, &args.text(0), args.int(1))
}

fn read(eval: &mut Eval<'_>, text: &str, base: i64) -> Result {
    eval.charge(text.len() as u64)?;
    let base = radix(base);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // Reading takes time quadratic in the number of digits.
    if digits.len() > MAX_DIGITS {
        return Err(Fault::from(NumberError::TooManyDigits));
    }
    eval.charge((digits.len() as u64).saturating_mul(digits.len() as u64) / 4_096)?;
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
    match BigInt::parse_bytes(text.as_bytes(), base).filter(|_| is_number) {
        Some(number) => Ok(Value::Number(Number::from_parts(number, 0)?)),
        None => Err(Fault::invalid(format!("`{text}` is not a number in base {base}"))),
    }
}

/// The digits of the longest number in the smallest base.
const MAX_DIGITS: usize = 40_000;

/// Invalid bases count as ten, as in Java.
fn radix(base: i64) -> u32 {
    u32::try_from(base).ok().filter(|base| (2..=36).contains(base)).unwrap_or(10)
}

fn to_binary(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    write(eval, &args.number(0), 2)
}

fn to_hex(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    write(eval, &args.number(0), 16)
}

fn to_radix(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    write(eval, &args.number(0), args.int(1))
}

fn write(eval: &mut Eval<'_>, number: &Number, base: i64) -> Result {
    if !number.is_integer() {
        return Err(Fault::invalid("only whole numbers have digits in another base"));
    }
    let digits = number.to_big_int().to_str_radix(radix(base));
    eval.text(digits)
}
