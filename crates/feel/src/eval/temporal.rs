//! Dates, times and durations: reading, writing, adding, subtracting.

use std::fmt::Write;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp, Zoned};
use meantime_value::temporal::{OffsetTime, Period, parse_date, parse_local_date_time};
use meantime_value::{Value, temporal as shared};

use super::compare::months;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Parses a text as a date, a time, both, or a duration.
pub(crate) fn parse(text: &str) -> Option<Value> {
    parse_duration(text)
        .or_else(|| strict_date(text).map(Value::Date))
        .or_else(|| parse_date_and_time(text))
        .or_else(|| parse_time(text))
}

/// `2026-01-31` and nothing after it.
pub(crate) fn strict_date(text: &str) -> Option<Date> {
    let plain = !text.contains('T');
    parse_date(text).filter(|_| plain)
}

/// Years and months, or days and a time of day; never both.
pub(crate) fn parse_duration(text: &str) -> Option<Value> {
    let period: Period = text.parse().ok()?;
    Some(Value::Period(match period {
        Period::Calendar { years: 0, months: 0, days } => {
            Period::from_nanos(i128::from(days) * 86_400 * NANOS_PER_SECOND)?
        }
        Period::Calendar { days: 0, .. } => of_months(months(&period)?)?,
        Period::Calendar { .. } => return None,
        exact @ Period::Exact { .. } => exact,
    }))
}

pub(crate) fn of_months(months: i64) -> Option<Period> {
    let (years, months) = (i32::try_from(months / 12).ok()?, i32::try_from(months % 12).ok()?);
    Some(Period::calendar(years, months, 0))
}

/// `2026-01-31T10:00:00`, with `Z`, an offset, or `@Europe/Berlin`.
pub(crate) fn parse_date_and_time(text: &str) -> Option<Value> {
    if let Some((local, zone)) = text.split_once('@') {
        let at = parse_local_date_time(local)?;
        let zone = shared::parse_time_zone(zone)?;
        return at.to_zoned(zone).ok().map(Value::date_time);
    }
    let Some((_, time)) = text.split_once('T') else {
        return strict_date(text).map(|date| Value::LocalDateTime(date.at(0, 0, 0, 0)));
    };
    // Without an offset the time is local: it becomes an instant only with a zone.
    if time.contains(['Z', '+', '-']) {
        return shared::parse_date_time(text).map(Value::date_time);
    }
    parse_local_date_time(text).map(Value::LocalDateTime)
}

/// `10:00:00`, with `Z` or an offset.
pub(crate) fn parse_time(text: &str) -> Option<Value> {
    if text.contains('T') || text.contains('@') {
        return None;
    }
    if let Some(time) = shared::parse_time(text) {
        return Some(Value::Time(time));
    }
    shared::parse_local_time(text).map(Value::LocalTime)
}

/// `10:00:00@Europe/Berlin`: with the offset of the zone on the day of an instant.
pub(crate) fn parse_time_in_zone(
    text: &str,
    now: Option<meantime_core::Timestamp>,
) -> Option<Value> {
    let (time, zone) = text.split_once('@')?;
    let time = shared::parse_local_time(time)?;
    let zone = shared::parse_time_zone(zone)?;
    let day = at_utc(now?)?.with_time_zone(zone.clone()).date();
    let offset = day.to_datetime(time).to_zoned(zone).ok()?.offset();
    Some(Value::Time(OffsetTime { time, offset }))
}

pub(crate) fn is_time_in_zone(text: &str) -> bool {
    parse_time_in_zone(text, Some(meantime_core::Timestamp::default())).is_some()
}

/// A date and time as an instant in UTC; a bare date is its midnight.
fn instant(value: &Value) -> Option<(Timestamp, bool)> {
    match value {
        Value::DateTime(at) => Some((at.timestamp(), true)),
        Value::LocalDateTime(at) => Some((utc(*at)?, false)),
        Value::Date(date) => Some((utc(date.at(0, 0, 0, 0))?, false)),
        _ => None,
    }
}

fn utc(at: DateTime) -> Option<Timestamp> {
    at.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// The time between two points; `None` if only one of them has an offset.
pub(super) fn between(left: &Value, right: &Value) -> Option<Value> {
    let nanos = match (left, right) {
        (Value::LocalTime(left), Value::LocalTime(right)) => nanos_of(*left) - nanos_of(*right),
        (Value::Time(left), Value::Time(right)) => {
            i128::from(left.instant()) - i128::from(right.instant())
        }
        _ => {
            let ((left_at, left_zoned), (right_at, right_zoned)) =
                (instant(left)?, instant(right)?);
            let dates = matches!(left, Value::Date(_)) || matches!(right, Value::Date(_));
            if left_zoned != right_zoned && !dates {
                return None;
            }
            left_at.as_nanosecond() - right_at.as_nanosecond()
        }
    };
    Period::from_nanos(nanos).map(Value::Period)
}

fn nanos_of(time: Time) -> i128 {
    let seconds = i128::from(time.hour()) * 3_600
        + i128::from(time.minute()) * 60
        + i128::from(time.second());
    seconds * NANOS_PER_SECOND + i128::from(time.subsec_nanosecond())
}

/// A point in time moved by a duration.
pub(super) fn add(value: &Value, period: &Period) -> Option<Value> {
    match (value, months(period)) {
        (Value::Date(date), Some(months)) => {
            date.checked_add(Span::new().try_months(months).ok()?).ok().map(Value::Date)
        }
        (Value::LocalDateTime(at), Some(months)) => {
            at.checked_add(Span::new().try_months(months).ok()?).ok().map(Value::LocalDateTime)
        }
        (Value::DateTime(at), Some(months)) => {
            at.checked_add(Span::new().try_months(months).ok()?).ok().map(Value::date_time)
        }
        (Value::Date(date), None) => {
            let moved = date.at(0, 0, 0, 0).checked_add(exact(period)?).ok()?;
            Some(Value::Date(moved.date()))
        }
        (Value::LocalDateTime(at), None) => {
            at.checked_add(exact(period)?).ok().map(Value::LocalDateTime)
        }
        (Value::DateTime(at), None) => at.checked_add(exact(period)?).ok().map(Value::date_time),
        (Value::LocalTime(time), None) => Some(Value::LocalTime(time.wrapping_add(exact(period)?))),
        (Value::Time(time), None) => {
            let moved = time.time.wrapping_add(exact(period)?);
            Some(Value::Time(OffsetTime { time: moved, offset: time.offset }))
        }
        _ => None,
    }
}

fn exact(period: &Period) -> Option<SignedDuration> {
    let nanos = period.to_nanos()?;
    let seconds = i64::try_from(nanos.div_euclid(NANOS_PER_SECOND)).ok()?;
    let rest = i32::try_from(nanos.rem_euclid(NANOS_PER_SECOND)).ok()?;
    Some(SignedDuration::new(seconds, rest))
}

/// The offset of a value from UTC, in seconds.
pub(super) fn offset_of(value: &Value) -> Option<i32> {
    match value {
        Value::Time(time) => Some(time.offset.seconds()),
        Value::DateTime(at) => Some(at.offset().seconds()),
        _ => None,
    }
}

/// The instant of an environment as a date and time.
pub(crate) fn at_utc(now: meantime_core::Timestamp) -> Option<Zoned> {
    let at = Timestamp::from_millisecond(now.as_millis()).ok()?;
    Some(at.to_zoned(TimeZone::UTC))
}

/// A date, a time or a duration as FEEL writes it; `None` for any other value.
pub(crate) fn written(value: &Value, region: bool) -> Option<String> {
    Some(match value {
        Value::Date(date) => date.to_string(),
        Value::LocalTime(time) => time_text(*time),
        Value::Time(time) => format!("{}{}", time_text(time.time), offset_text(time.offset)),
        Value::LocalDateTime(at) => format!("{}T{}", at.date(), time_text(at.time())),
        Value::DateTime(at) => {
            let local = format!("{}T{}", at.date(), time_text(at.time()));
            match at.time_zone().iana_name().filter(|name| region && *name != "UTC") {
                Some(name) => format!("{local}@{name}"),
                None => format!("{local}{}", offset_text(at.offset())),
            }
        }
        Value::Period(period) => duration_text(period)?,
        _ => return None,
    })
}

fn time_text(time: Time) -> String {
    let mut text = format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second());
    let nanos = time.subsec_nanosecond();
    if nanos != 0 {
        let digits = format!("{nanos:09}");
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
    text
}

fn offset_text(offset: Offset) -> String {
    let seconds = offset.seconds();
    if seconds == 0 {
        return "Z".to_owned();
    }
    let (sign, rest) = if seconds < 0 { ('-', -seconds) } else { ('+', seconds) };
    format!("{sign}{:02}:{:02}", rest / 3_600, rest % 3_600 / 60)
}

/// `P1Y2M`, `P1DT2H`: the largest units first, the sign in front.
fn duration_text(period: &Period) -> Option<String> {
    if let Some(total) = months(period) {
        let sign = if total < 0 { "-" } else { "" };
        let (years, rest) = (total.abs() / 12, total.abs() % 12);
        return Some(match (years, rest) {
            (0, 0) => "P0M".to_owned(),
            (years, 0) => format!("{sign}P{years}Y"),
            (0, rest) => format!("{sign}P{rest}M"),
            (years, rest) => format!("{sign}P{years}Y{rest}M"),
        });
    }
    let nanos = period.to_nanos()?;
    let sign = if nanos < 0 { "-" } else { "" };
    let (total, fraction) = (nanos.abs() / NANOS_PER_SECOND, nanos.abs() % NANOS_PER_SECOND);
    let (days, hours) = (total / 86_400, total % 86_400 / 3_600);
    let (minutes, seconds) = (total % 3_600 / 60, total % 60);
    let mut text = format!("{sign}P");
    if days != 0 {
        let _ = write!(text, "{days}D");
    }
    if hours != 0 || minutes != 0 || seconds != 0 || fraction != 0 {
        text.push('T');
        for (amount, unit) in [(hours, 'H'), (minutes, 'M')] {
            if amount != 0 {
                let _ = write!(text, "{amount}{unit}");
            }
        }
        if fraction != 0 {
            let digits = format!("{fraction:09}");
            let _ = write!(text, "{seconds}.{}S", digits.trim_end_matches('0'));
        } else if seconds != 0 {
            let _ = write!(text, "{seconds}S");
        }
    }
    if text.ends_with('P') {
        "PT0S".clone_into(&mut text);
    }
    Some(text)
}
