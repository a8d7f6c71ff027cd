//! Arithmetic with dates, times and periods, and their parts.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Zoned};
use meantime_value::temporal::{OffsetTime, Period, at_zone, nanoseconds};
use meantime_value::{Kind, Number, Value};

use super::coerce;
use super::eval::{Fault, Result};

const NANOS_PER_DAY: i128 = 86_400_000_000_000;

/// `value + period`, or `value - period` if the sign is negative. None if the value has no
/// calendar.
pub(super) fn add(value: &Value, period: Period, sign: i64) -> Result<Option<Value>> {
    let period = if sign < 0 { period.negated().ok_or_else(out_of_range)? } else { period };
    let sum = match value {
        Value::Date(date) => Value::Date(add_to_date(*date, period)?),
        Value::LocalDateTime(local) => Value::LocalDateTime(add_to_local(*local, period)?),
        Value::DateTime(zoned) => Value::date_time(add_to_zoned(zoned, period)?),
        Value::LocalTime(time) => Value::LocalTime(add_to_time(*time, period)?),
        Value::Time(time) => {
            Value::Time(OffsetTime { time: add_to_time(time.time, period)?, ..*time })
        }
        Value::Text(_) => {
            let kinds =
                [Kind::DateTime, Kind::Date, Kind::Time, Kind::LocalDateTime, Kind::LocalTime];
            let temporal = kinds.into_iter().find_map(|kind| coerce::auto(value, kind));
            return match temporal {
                Some(temporal) => add(temporal.bare(), period, 1),
                None => Ok(None),
            };
        }
        _ => return Ok(None),
    };
    Ok(Some(sum))
}

fn out_of_range() -> Fault {
    Fault::invalid("the date is out of range")
}

fn calendar_span(years: i32, months: i32, days: i32) -> Result<Span> {
    let span = Span::new().try_years(years).and_then(|span| span.try_months(months));
    span.and_then(|span| span.try_days(days)).map_err(|_| out_of_range())
}

fn add_to_date(date: Date, period: Period) -> Result<Date> {
    match period {
        Period::Calendar { years, months, days } => {
            // Years and months first, limited to the last day of the month, then days.
            let moved = date.checked_add(calendar_span(years, months, 0)?);
            let moved = moved.and_then(|date| date.checked_add(Span::new().try_days(days)?));
            moved.map_err(|_| out_of_range())
        }
        Period::Exact { .. } => {
            Err(Fault::type_error("hours, minutes and seconds cannot be added to a Date"))
        }
    }
}

fn add_to_local(local: DateTime, period: Period) -> Result<DateTime> {
    match period {
        Period::Calendar { .. } => Ok(add_to_date(local.date(), period)?.to_datetime(local.time())),
        Period::Exact { .. } => {
            let total = i128::from(nanoseconds(local.time())) + period.to_nanos().unwrap_or(0);
            let days =
                i64::try_from(total.div_euclid(NANOS_PER_DAY)).map_err(|_| out_of_range())?;
            let span = Span::new().try_days(days).map_err(|_| out_of_range())?;
            let date = local.date().checked_add(span).map_err(|_| out_of_range())?;
            Ok(date.to_datetime(time_of(total.rem_euclid(NANOS_PER_DAY))))
        }
    }
}

fn add_to_zoned(zoned: &Zoned, period: Period) -> Result<Zoned> {
    match period {
        Period::Calendar { .. } => {
            let local = add_to_local(zoned.datetime(), period)?;
            at_zone(local, zoned.time_zone()).ok_or_else(out_of_range)
        }
        Period::Exact { .. } => {
            let nanos = zoned.timestamp().as_nanosecond() + period.to_nanos().unwrap_or(0);
            let timestamp = jiff::Timestamp::from_nanosecond(nanos).map_err(|_| out_of_range())?;
            Ok(timestamp.to_zoned(zoned.time_zone().clone()))
        }
    }
}

/// Wraps around at midnight.
fn add_to_time(time: Time, period: Period) -> Result<Time> {
    match period.to_nanos() {
        Some(nanos) => {
            Ok(time_of((i128::from(nanoseconds(time)) + nanos).rem_euclid(NANOS_PER_DAY)))
        }
        None => Err(Fault::type_error("years, months and days cannot be added to a time")),
    }
}

fn time_of(nanos: i128) -> Time {
    let part = |unit: i128, size: i128| i8::try_from(nanos / unit % size).unwrap_or(0);
    let fraction = i32::try_from(nanos % 1_000_000_000).unwrap_or(0);
    let (second, minute, hour) =
        (part(1_000_000_000, 60), part(60_000_000_000, 60), part(3_600_000_000_000, 24));
    Time::new(hour, minute, second, fraction).unwrap_or(Time::midnight())
}

/// Whether the value is a date or a time.
pub(super) fn is_temporal(value: &Value) -> bool {
    matches!(
        value.kind(),
        Kind::Date | Kind::LocalDateTime | Kind::DateTime | Kind::LocalTime | Kind::Time
    )
}

/// The exact duration from the right value to the left one. Both are converted to a common kind:
/// days, times of day, or instants.
pub(super) fn between(left: &Value, right: &Value) -> Option<Period> {
    let both_text = left.kind() == Kind::String && right.kind() == Kind::String;
    if !is_temporal(left) && !is_temporal(right) && !both_text {
        return None;
    }
    let either = |kind: Kind| left.kind() == kind || right.kind() == kind;
    let common: &[Kind] = if either(Kind::Date) {
        &[Kind::Date]
    } else if either(Kind::Time) {
        &[Kind::Time]
    } else if either(Kind::LocalTime) {
        &[Kind::LocalTime]
    } else {
        &[Kind::DateTime, Kind::Date]
    };
    let difference = |kind: &Kind| {
        let value = |value| coerce::auto(value, *kind);
        Some(instant(&value(left)?)? - instant(&value(right)?)?)
    };
    Period::from_nanos(common.iter().find_map(difference)?)
}

/// Nanoseconds since the epoch or since midnight; a value without a zone is in UTC.
pub(super) fn instant(value: &Value) -> Option<i128> {
    match value {
        Value::Date(date) => instant(&Value::LocalDateTime(date.at(0, 0, 0, 0))),
        Value::LocalDateTime(local) => {
            let zoned = at_zone(*local, &TimeZone::UTC)?;
            Some(zoned.timestamp().as_nanosecond())
        }
        Value::DateTime(zoned) => Some(zoned.timestamp().as_nanosecond()),
        Value::LocalTime(time) => Some(i128::from(nanoseconds(*time))),
        Value::Time(time) => Some(i128::from(time.instant())),
        _ => None,
    }
}

/// `++` on dates, times and zones. None for other values.
pub(super) fn join(left: &Value, right: &Value) -> Result<Option<Value>> {
    let zoned = |local: DateTime, zone: &TimeZone| match at_zone(local, zone) {
        Some(zoned) => Ok(Some(Value::date_time(zoned))),
        None => Err(out_of_range()),
    };
    match (left, right) {
        (Value::Date(date), Value::LocalTime(time))
        | (Value::LocalTime(time), Value::Date(date)) => {
            Ok(Some(Value::LocalDateTime(date.to_datetime(*time))))
        }
        (Value::Date(date), Value::Time(time)) | (Value::Time(time), Value::Date(date)) => {
            zoned(date.to_datetime(time.time), &TimeZone::fixed(time.offset))
        }
        (Value::Date(date), Value::TimeZone(zone)) | (Value::TimeZone(zone), Value::Date(date)) => {
            zoned(date.at(0, 0, 0, 0), zone)
        }
        (Value::LocalDateTime(local), Value::TimeZone(zone))
        | (Value::TimeZone(zone), Value::LocalDateTime(local)) => zoned(*local, zone),
        (Value::LocalTime(time), Value::TimeZone(zone))
        | (Value::TimeZone(zone), Value::LocalTime(time)) => match zone.to_fixed_offset() {
            Ok(offset) => Ok(Some(Value::Time(OffsetTime { time: *time, offset }))),
            Err(_) => Err(Fault::type_error("a time needs an offset, not a region")),
        },
        _ => Ok(None),
    }
}

/// A part by its name; null if there is no such part. None if the value has no parts.
pub(super) fn part(value: &Value, name: &str) -> Option<Value> {
    let found = match value {
        Value::Date(date) => date_part(*date, name),
        Value::LocalTime(time) => time_part(*time, name),
        Value::Time(time) => time_part(time.time, name).or_else(|| offset_part(time.offset, name)),
        Value::LocalDateTime(local) => {
            date_part(local.date(), name).or_else(|| time_part(local.time(), name))
        }
        Value::DateTime(zoned) => date_part(zoned.date(), name)
            .or_else(|| time_part(zoned.time(), name))
            .or_else(|| offset_part(zoned.offset(), name)),
        Value::Period(period) => period_part(*period, name),
        _ => return None,
    };
    Some(found.unwrap_or_default())
}

fn date_part(date: Date, name: &str) -> Option<Value> {
    let number = match name {
        "year" => i64::from(date.year()),
        "month" => i64::from(date.month()),
        "day" => i64::from(date.day()),
        "quarter" => i64::from((date.month() - 1) / 3 + 1),
        "dayOfWeek" => i64::from(date.weekday().to_monday_one_offset()),
        "dayOfYear" => i64::from(date.day_of_year()),
        _ => return None,
    };
    Some(Value::from(number))
}

fn time_part(time: Time, name: &str) -> Option<Value> {
    let number = match name {
        "hour" => i64::from(time.hour()),
        "minutes" => i64::from(time.minute()),
        "seconds" => i64::from(time.second()),
        "milliseconds" => i64::from(time.subsec_nanosecond()) / 1_000_000,
        "nanoseconds" => i64::from(time.subsec_nanosecond()),
        _ => return None,
    };
    Some(Value::from(number))
}

fn offset_part(offset: Offset, name: &str) -> Option<Value> {
    match name {
        "offsetSeconds" => Some(Value::from(i64::from(offset.seconds()))),
        "timezone" => Some(Value::TimeZone(TimeZone::fixed(offset))),
        _ => None,
    }
}

fn period_part(period: Period, name: &str) -> Option<Value> {
    let number = match period {
        Period::Calendar { years, months, days } => match name {
            "years" => i64::from(years),
            "months" => i64::from(months),
            "days" => i64::from(days),
            _ => return None,
        },
        Period::Exact { seconds, nanos } => match name {
            "days" => seconds / 86_400,
            "hours" => seconds / 3600 % 24,
            "minutes" => seconds / 60 % 60,
            "secs" => seconds % 60,
            "seconds" => seconds,
            "nanos" => i64::from(nanos),
            _ => return None,
        },
    };
    Some(Value::Number(Number::Int(number)))
}
