//! The current time, dates, identifiers.

use meantime_value::Value;

use super::super::super::eval::{Eval, Result};
use super::super::native::{Args, Native, Overload, Param};

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("now", &[Overload::new(&[], now)]),
    Native::new("uuid", &[Overload::new(&[], uuid)]),
    Native::new("daysBetween", &[Overload::new(&[Param::DATE, Param::DATE], days_between)]),
    Native::new(
        "isLeapYear",
        &[
            Overload::new(&[Param::DATE_TIME], is_leap_year),
            Overload::new(&[Param::DATE], is_leap_year),
            Overload::new(&[Param::LOCAL_DATE_TIME], is_leap_year),
        ],
    ),
];

fn now(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::date_time(eval.now().clone()))
}

/// A random UUID of version 4, from the seed of the evaluation.
fn uuid(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    let high = eval.random() & !0xf000 | 0x4000;
    let low = eval.random() & !(0b11 << 62) | 1 << 63;
    let text = format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    );
    eval.text(text)
}

fn days_between(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let (Value::Date(from), Value::Date(to)) = (args.get(0), args.get(1)) else {
        return Ok(Value::Null);
    };
    let days = from.until(*to).map_or(0, |span| i64::from(span.get_days()));
    Ok(Value::from(days))
}

fn is_leap_year(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(match args.get(0) {
        Value::Date(date) => date.in_leap_year(),
        Value::LocalDateTime(local) => local.in_leap_year(),
        Value::DateTime(zoned) => zoned.in_leap_year(),
        _ => false,
    }))
}
