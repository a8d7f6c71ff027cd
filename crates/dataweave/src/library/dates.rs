//! `dw::core::Dates`.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};
use meantime_value::temporal::{OffsetTime, at_zone};
use meantime_value::{Kind, Object, Value};

use super::super::coerce;
use super::super::eval::{Eval, Fault, Result};
use super::native::{Args, Native, Overload, Param};

const DAY_OVERLOADS: &[Overload] = &[
    Overload::new(&[Param::only(Kind::DateTime)], at_beginning_of_day),
    Overload::new(&[Param::LOCAL_DATE_TIME], at_beginning_of_day),
];
const PARTS_PARAMS: &[Param] = &[Param::OBJECT];

/// One overload for every kind that has this unit.
macro_rules! beginnings {
    ($run:ident, $($kind:ident),+) => {
        &[$(Overload::new(&[Param::only(Kind::$kind)], $run)),+]
    };
}

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("atBeginningOfDay", DAY_OVERLOADS),
    Native::new(
        "atBeginningOfHour",
        beginnings!(at_beginning_of_hour, DateTime, LocalDateTime, LocalTime, Time),
    ),
    Native::new(
        "atBeginningOfMonth",
        beginnings!(at_beginning_of_month, DateTime, LocalDateTime, Date),
    ),
    Native::new(
        "atBeginningOfWeek",
        beginnings!(at_beginning_of_week, DateTime, LocalDateTime, Date),
    ),
    Native::new(
        "atBeginningOfYear",
        beginnings!(at_beginning_of_year, DateTime, LocalDateTime, Date),
    ),
    Native::new("date", &[Overload::new(PARTS_PARAMS, date)]),
    Native::new("dateTime", &[Overload::new(PARTS_PARAMS, date_time)]),
    Native::new("localDateTime", &[Overload::new(PARTS_PARAMS, local_date_time)]),
    Native::new("localTime", &[Overload::new(PARTS_PARAMS, local_time)]),
    Native::new("time", &[Overload::new(PARTS_PARAMS, time)]),
    Native::new("today", &[Overload::new(&[], today)]),
    Native::new("tomorrow", &[Overload::new(&[], tomorrow)]),
    Native::new("yesterday", &[Overload::new(&[], yesterday)]),
];

fn out_of_range() -> Fault {
    Fault::invalid("the date is out of range")
}

/// The value with another local time; the zone stays.
fn with_local(value: &Value, change: impl Fn(DateTime) -> DateTime) -> Result {
    Ok(match value {
        Value::Date(date) => Value::Date(change(date.at(0, 0, 0, 0)).date()),
        Value::LocalDateTime(local) => Value::LocalDateTime(change(*local)),
        Value::DateTime(zoned) => Value::date_time(rezoned(zoned, change(zoned.datetime()))?),
        Value::LocalTime(time) => {
            Value::LocalTime(change(Date::constant(1970, 1, 1).to_datetime(*time)).time())
        }
        Value::Time(time) => {
            let changed = change(Date::constant(1970, 1, 1).to_datetime(time.time)).time();
            Value::Time(OffsetTime { time: changed, ..*time })
        }
        other => return Err(Fault::expected(Kind::DateTime, other)),
    })
}

fn rezoned(zoned: &Zoned, local: DateTime) -> Result<Zoned> {
    at_zone(local, zoned.time_zone()).ok_or_else(out_of_range)
}

fn midnight(date: Date) -> DateTime {
    date.to_datetime(Time::midnight())
}

fn at_beginning_of_day(_: &mut Eval<'_>, args: &mut Args) -> Result {
    with_local(args.get(0), |local| midnight(local.date()))
}

fn at_beginning_of_hour(_: &mut Eval<'_>, args: &mut Args) -> Result {
    with_local(args.get(0), |local| local.date().at(local.hour(), 0, 0, 0))
}

fn at_beginning_of_month(_: &mut Eval<'_>, args: &mut Args) -> Result {
    with_local(args.get(0), |local| midnight(local.date().first_of_month()))
}

/// Weeks begin on Sunday.
fn at_beginning_of_week(_: &mut Eval<'_>, args: &mut Args) -> Result {
    with_local(args.get(0), |local| {
        let back = local.date().weekday().to_sunday_zero_offset();
        midnight(local.date().saturating_sub(back.days()))
    })
}

fn at_beginning_of_year(_: &mut Eval<'_>, args: &mut Args) -> Result {
    with_local(args.get(0), |local| midnight(local.date().first_of_year()))
}

/// An integer among the parts, rounded, within bounds.
fn part(parts: &Object, name: &str, least: i64, most: i64) -> Result<i64> {
    let value = parts.get(name).cloned().unwrap_or_default();
    let Value::Number(number) = coerce::to_kind(&value, Kind::Number)
        .map_err(|_| Fault::invalid(format!("the part `{name}` is missing or not a number")))?
    else {
        return Err(Fault::expected(Kind::Number, &value));
    };
    let rounded = number.round_to(0, bigdecimal::RoundingMode::HalfUp);
    rounded.to_i64().filter(|value| (least..=most).contains(value)).ok_or_else(|| {
        Fault::invalid(format!("`{name}` is {number}, which is not between {least} and {most}"))
    })
}

fn small(parts: &Object, name: &str, least: i64, most: i64) -> Result<i8> {
    i8::try_from(part(parts, name, least, most)?).map_err(|_| out_of_range())
}

fn date_of(parts: &Object) -> Result<Date> {
    let year = i16::try_from(part(parts, "year", -9999, 9999)?).map_err(|_| out_of_range())?;
    let (month, day) = (small(parts, "month", 1, 12)?, small(parts, "day", 1, 31)?);
    Date::new(year, month, day).map_err(|_| Fault::invalid("there is no such day"))
}

fn time_of(parts: &Object) -> Result<Time> {
    let hour = small(parts, "hour", 0, 23)?;
    let minute = small(parts, "minutes", 0, 59)?;
    Time::new(hour, minute, small(parts, "seconds", 0, 59)?, 0).map_err(|_| out_of_range())
}

fn zone_of(parts: &Object) -> Result<TimeZone> {
    let zone = parts.get("timeZone").cloned().unwrap_or_default();
    match coerce::to_kind(&zone, Kind::TimeZone)? {
        Value::TimeZone(zone) => Ok(zone),
        other => Err(Fault::expected(Kind::TimeZone, &other)),
    }
}

fn date(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Date(date_of(&args.object(0))?))
}

fn local_date_time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let parts = args.object(0);
    Ok(Value::LocalDateTime(date_of(&parts)?.to_datetime(time_of(&parts)?)))
}

fn date_time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let parts = args.object(0);
    let local = date_of(&parts)?.to_datetime(time_of(&parts)?);
    at_zone(local, &zone_of(&parts)?).map(Value::date_time).ok_or_else(out_of_range)
}

fn local_time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::LocalTime(time_of(&args.object(0))?))
}

fn time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let parts = args.object(0);
    let offset = zone_of(&parts)?.to_fixed_offset();
    let offset = offset.map_err(|_| Fault::type_error("a time needs an offset, not a region"))?;
    Ok(Value::Time(OffsetTime { time: time_of(&parts)?, offset }))
}

fn day_from_now(eval: &Eval<'_>, days: i64) -> Result {
    let date = eval.now().date().checked_add(days.days()).map_err(|_| out_of_range())?;
    Ok(Value::Date(date))
}

fn today(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    day_from_now(eval, 0)
}

fn tomorrow(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    day_from_now(eval, 1)
}

fn yesterday(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    day_from_now(eval, -1)
}
