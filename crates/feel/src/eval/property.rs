//! Entries of contexts, and parts of dates, times, durations and intervals.

use jiff::civil;
use meantime_value::temporal::Period;
use meantime_value::{Number, Value};

use super::compare::months;
use super::temporal::offset_of;
use crate::foreign::interval;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

pub(super) fn get(value: &Value, name: &str) -> Option<Value> {
    match value {
        Value::Object(object) => object.get(name).cloned(),
        Value::Date(date) => of_date(*date, name),
        Value::LocalTime(time) => of_time(*time, name),
        Value::Time(time) => of_time(time.time, name).or_else(|| of_offset(value, name)),
        Value::LocalDateTime(at) => of_date(at.date(), name).or_else(|| of_time(at.time(), name)),
        Value::DateTime(at) => of_date(at.date(), name)
            .or_else(|| of_time(at.time(), name))
            .or_else(|| of_offset(value, name)),
        Value::Period(period) => of_period(period, name),
        _ => {
            let interval = interval(value)?;
            Some(match name {
                "start" => interval.start.clone(),
                "end" => interval.end.clone(),
                "start included" => Value::Bool(interval.start_included),
                "end included" => Value::Bool(interval.end_included),
                _ => return None,
            })
        }
    }
}

fn of_date(date: civil::Date, name: &str) -> Option<Value> {
    let part = match name {
        "year" => i64::from(date.year()),
        "month" => i64::from(date.month()),
        "day" => i64::from(date.day()),
        "weekday" => i64::from(date.weekday().to_monday_one_offset()),
        _ => return None,
    };
    Some(Value::from(part))
}

fn of_time(time: civil::Time, name: &str) -> Option<Value> {
    let part = match name {
        "hour" => i64::from(time.hour()),
        "minute" => i64::from(time.minute()),
        "second" => i64::from(time.second()),
        _ => return None,
    };
    Some(Value::from(part))
}

fn of_offset(value: &Value, name: &str) -> Option<Value> {
    match (name, value) {
        ("time offset", _) => {
            let seconds = i128::from(offset_of(value)?);
            Period::from_nanos(seconds * NANOS_PER_SECOND).map(Value::Period)
        }
        ("timezone", Value::DateTime(at)) => {
            at.time_zone().iana_name().map(Value::from).or(Some(Value::Null))
        }
        _ => None,
    }
}

fn of_period(period: &Period, name: &str) -> Option<Value> {
    if let Some(months) = months(period) {
        let part = match name {
            "years" => months / 12,
            "months" => months % 12,
            _ => return None,
        };
        return Some(Value::from(part));
    }
    let nanos = period.to_nanos()?;
    let seconds = nanos / NANOS_PER_SECOND;
    let part = match name {
        "days" => seconds / 86_400,
        "hours" => seconds % 86_400 / 3_600,
        "minutes" => seconds % 3_600 / 60,
        "seconds" => {
            let rest = i64::try_from(nanos % (60 * NANOS_PER_SECOND)).ok()?;
            return Number::from(rest)
                .div(&Number::from(1_000_000_000_i64))
                .ok()
                .map(Value::Number);
        }
        _ => return None,
    };
    i64::try_from(part).ok().map(Value::from)
}
