//! `dw::core::Periods`.

use meantime_value::temporal::Period;
use meantime_value::{Kind, Number, Object, Value};

use super::super::coerce;
use super::super::eval::{Eval, Fault, Result};
use super::native::{Args, Native, Overload, Param};

const ONE_PARAM: &[Param] = &[Param::NUMBER];
const PARTS_PARAMS: &[Param] = &[Param::OBJECT];

/// Seconds of a unit.
const DAY: i64 = 86_400;
const HOUR: i64 = 3600;
const MINUTE: i64 = 60;

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("between", &[Overload::new(&[Param::DATE, Param::DATE], between)]),
    Native::new("years", &[Overload::new(ONE_PARAM, years)]),
    Native::new("months", &[Overload::new(ONE_PARAM, months)]),
    Native::new("days", &[Overload::new(ONE_PARAM, days)]),
    Native::new("hours", &[Overload::new(ONE_PARAM, hours)]),
    Native::new("minutes", &[Overload::new(ONE_PARAM, minutes)]),
    Native::new("seconds", &[Overload::new(ONE_PARAM, seconds)]),
    Native::new("duration", &[Overload::new(PARTS_PARAMS, duration)]),
    Native::new("period", &[Overload::new(PARTS_PARAMS, period)]),
];

fn too_long() -> Fault {
    Fault::invalid("the period is too long")
}

/// From the second day to the first, in years, months and days.
fn between(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let (Value::Date(end), Value::Date(start)) = (args.get(0), args.get(1)) else {
        return Ok(Value::Null);
    };
    // Whole months first, then the remaining days, both with the same sign.
    let total = |date: &jiff::civil::Date| i64::from(date.year()) * 12 + i64::from(date.month());
    let mut months = total(end) - total(start);
    let mut days = i64::from(end.day()) - i64::from(start.day());
    if months > 0 && days < 0 {
        months -= 1;
        let moved = jiff::Span::new().try_months(months).map_err(|_| too_long())?;
        let moved = start.checked_add(moved).map_err(|_| too_long())?;
        days = moved.until(*end).map_or(0, |span| i64::from(span.get_days()));
    } else if months < 0 && days > 0 {
        months += 1;
        days -= i64::from(end.days_in_month());
    }
    let fit = |value: i64| i32::try_from(value).map_err(|_| too_long());
    Ok(Value::Period(Period::calendar(fit(months / 12)?, fit(months % 12)?, fit(days)?)))
}

/// A number of calendar units, which must be whole.
fn whole(name: &str, number: &Number) -> Result<i32> {
    if !number.is_integer() {
        return Err(Fault::invalid(format!("`{name}` is {number}, but must be a whole number")));
    }
    number.to_i64().and_then(|value| i32::try_from(value).ok()).ok_or_else(too_long)
}

/// A number of units of fixed length.
fn nanos(number: &Number, unit_seconds: i64) -> Result<i128> {
    let nanos = number.mul(&Number::Int(unit_seconds))?.mul(&Number::Int(1_000_000_000))?;
    let nanos = nanos.round_to(0, bigdecimal::RoundingMode::Down).to_big_int();
    i128::try_from(nanos).map_err(|_| too_long())
}

fn exact(nanos: i128) -> Result {
    Period::from_nanos(nanos).map(Value::Period).ok_or_else(too_long)
}

fn years(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Period(Period::calendar(whole("years", &args.number(0))?, 0, 0)))
}

fn months(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Period(Period::calendar(0, whole("months", &args.number(0))?, 0)))
}

/// Days of the calendar; with a fraction, a duration.
fn days(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let number = args.number(0);
    if number.is_integer() {
        return Ok(Value::Period(Period::calendar(0, 0, whole("days", &number)?)));
    }
    exact(nanos(&number, DAY)?)
}

fn hours(_: &mut Eval<'_>, args: &mut Args) -> Result {
    exact(nanos(&args.number(0), HOUR)?)
}

fn minutes(_: &mut Eval<'_>, args: &mut Args) -> Result {
    exact(nanos(&args.number(0), MINUTE)?)
}

fn seconds(_: &mut Eval<'_>, args: &mut Args) -> Result {
    exact(nanos(&args.number(0), 1)?)
}

fn part(parts: &Object, name: &str) -> Result<Number> {
    let Some(value) = parts.get(name).filter(|value| !value.is_null()) else {
        return Ok(Number::ZERO);
    };
    match coerce::to_kind(value, Kind::Number)? {
        Value::Number(number) => Ok(number),
        other => Err(Fault::expected(Kind::Number, &other)),
    }
}

fn duration(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let parts = args.object(0);
    let mut total = 0_i128;
    for (name, unit) in [("days", DAY), ("hours", HOUR), ("minutes", MINUTE), ("seconds", 1)] {
        let amount = nanos(&part(&parts, name)?, unit)?;
        total = total.checked_add(amount).ok_or_else(too_long)?;
    }
    exact(total)
}

fn period(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let parts = args.object(0);
    let amount = |name| whole(name, &part(&parts, name)?);
    Ok(Value::Period(Period::calendar(amount("years")?, amount("months")?, amount("days")?)))
}
