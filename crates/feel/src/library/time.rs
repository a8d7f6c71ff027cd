//! Dates, times and durations. The current time is an input.

use jiff::civil::Date;
use jiff::tz::Offset;
use meantime_core::Timestamp;
use meantime_core::time::{MONTH_NAMES, WEEKDAY_NAMES};
use meantime_value::temporal::{OffsetTime, parse_time_zone};
use meantime_value::{Number, Value};

use crate::eval::compare::months;
use crate::eval::temporal::{
    at_utc, of_months, parse_date_and_time, parse_duration, parse_time, parse_time_in_zone,
    strict_date, written,
};

pub(super) fn date(values: &[Value]) -> Option<Value> {
    match values {
        [Value::Text(text)] => strict_date(text).map(Value::Date),
        [value] => date_of(value).map(Value::Date),
        [Value::Number(year), Value::Number(month), Value::Number(day)] => {
            let year = i16::try_from(year.to_i64()?).ok()?;
            let part = |number: &Number| i8::try_from(number.to_i64()?).ok();
            Date::new(year, part(month)?, part(day)?).ok().map(Value::Date)
        }
        _ => None,
    }
}

fn date_of(value: &Value) -> Option<Date> {
    match value {
        Value::Date(date) => Some(*date),
        Value::LocalDateTime(at) => Some(at.date()),
        Value::DateTime(at) => Some(at.date()),
        _ => None,
    }
}

pub(super) fn time(now: Option<Timestamp>, values: &[Value]) -> Option<Value> {
    match values {
        [Value::Text(text)] => parse_time(text).or_else(|| parse_time_in_zone(text, now)),
        [value] => time_of(value),
        [Value::Number(hour), Value::Number(minute), Value::Number(second), rest @ ..] => {
            let part = |number: &Number| i8::try_from(number.to_i64()?).ok();
            let time =
                jiff::civil::Time::new(part(hour)?, part(minute)?, part(second)?, nanos(second)?);
            let time = time.ok()?;
            match rest {
                [] | [Value::Null] => Some(Value::LocalTime(time)),
                [Value::Period(offset)] => {
                    let seconds = i32::try_from(offset.to_nanos()? / 1_000_000_000).ok()?;
                    let offset = Offset::from_seconds(seconds).ok()?;
                    Some(Value::Time(OffsetTime { time, offset }))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The fraction of a second.
fn nanos(second: &Number) -> Option<i32> {
    let whole = Number::from(second.to_i64()?);
    let rest = second.sub(&whole).ok()?.mul(&Number::from(1_000_000_000_i64)).ok()?;
    i32::try_from(rest.to_i64()?).ok()
}

fn time_of(value: &Value) -> Option<Value> {
    match value {
        Value::LocalTime(_) | Value::Time(_) => Some(value.clone()),
        Value::LocalDateTime(at) => Some(Value::LocalTime(at.time())),
        Value::DateTime(at) => {
            Some(Value::Time(OffsetTime { time: at.time(), offset: at.offset() }))
        }
        Value::Date(_) => {
            let time = jiff::civil::Time::midnight();
            Some(Value::Time(OffsetTime { time, offset: Offset::UTC }))
        }
        _ => None,
    }
}

pub(super) fn date_and_time(values: &[Value]) -> Option<Value> {
    match values {
        [Value::Text(text)] => parse_date_and_time(text),
        [at @ (Value::DateTime(_) | Value::LocalDateTime(_))] => Some(at.clone()),
        [Value::Date(date)] => Some(Value::LocalDateTime(date.at(0, 0, 0, 0))),
        [date, Value::LocalTime(time)] => {
            Some(Value::LocalDateTime(date_of(date)?.to_datetime(*time)))
        }
        [date, Value::Time(time)] => {
            let at = date_of(date)?.to_datetime(time.time);
            at.to_zoned(jiff::tz::TimeZone::fixed(time.offset)).ok().map(Value::date_time)
        }
        [Value::DateTime(at), Value::Text(zone)] => {
            Some(Value::date_time(at.with_time_zone(parse_time_zone(zone)?)))
        }
        [Value::LocalDateTime(at), Value::Text(zone)] => {
            at.to_zoned(parse_time_zone(zone)?).ok().map(Value::date_time)
        }
        _ => None,
    }
}

pub(super) fn duration(values: &[Value]) -> Option<Value> {
    match values {
        [Value::Text(text)] => parse_duration(text),
        [Value::Period(period)] => Some(Value::Period(*period)),
        _ => None,
    }
}

/// Whole months from one date to another.
pub(super) fn months_between(values: &[Value]) -> Option<Value> {
    let [from, to] = values else { return None };
    let (from, to) = (date_of(from)?, date_of(to)?);
    let count = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
    let mut months = count(to) - count(from);
    if months > 0 && to.day() < from.day() {
        months -= 1;
    } else if months < 0 && to.day() > from.day() {
        months += 1;
    }
    of_months(months).map(Value::Period)
}

pub(super) fn now(now: Option<Timestamp>, values: &[Value]) -> Option<Value> {
    let [] = values else { return None };
    at_utc(now?).map(Value::date_time)
}

pub(super) fn today(now: Option<Timestamp>, values: &[Value]) -> Option<Value> {
    let [] = values else { return None };
    at_utc(now?).map(|at| Value::Date(at.date()))
}

pub(super) fn day_of_week(values: &[Value]) -> Option<Value> {
    let [value] = values else { return None };
    let day = usize::try_from(date_of(value)?.weekday().to_monday_zero_offset()).ok()?;
    WEEKDAY_NAMES.get(day).map(|day| Value::from(*day))
}

pub(super) fn month_of_year(values: &[Value]) -> Option<Value> {
    let [value] = values else { return None };
    let month = usize::try_from(date_of(value)?.month() - 1).ok()?;
    MONTH_NAMES.get(month).map(|month| Value::from(*month))
}

pub(super) fn day_of_year(values: &[Value]) -> Option<Value> {
    let [value] = values else { return None };
    Some(Value::from(i64::from(date_of(value)?.day_of_year())))
}

pub(super) fn week_of_year(values: &[Value]) -> Option<Value> {
    let [value] = values else { return None };
    Some(Value::from(i64::from(date_of(value)?.iso_week_date().week())))
}

pub(super) fn last_day_of_month(values: &[Value]) -> Option<Value> {
    let [value] = values else { return None };
    Some(Value::Date(date_of(value)?.last_of_month()))
}

/// A repeating interval for a timer: `cycle(3, duration("PT1H"))` is `R3/PT1H`.
pub(super) fn cycle(values: &[Value]) -> Option<Value> {
    let (count, interval) = match values {
        [interval] | [Value::Null, interval] => (String::new(), interval),
        [Value::Number(count), interval] => (count.to_i64()?.to_string(), interval),
        _ => return None,
    };
    let Value::Period(period) = interval else { return None };
    let positive = months(period).map_or_else(|| period.to_nanos(), |it| Some(i128::from(it)));
    if positive? <= 0 {
        return None;
    }
    Some(Value::from(format!("R{count}/{}", written(interval, false)?)))
}
