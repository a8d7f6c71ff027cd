//! To dates, times, zones and periods.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use meantime_value::temporal::{
    OffsetTime, at_zone, parse_date, parse_date_time, parse_local_date_time, parse_local_time,
    parse_time, parse_time_zone,
};
use meantime_value::{Kind, Number, Value};

use super::super::eval::{Fault, Result};
use super::super::format::read_date;
use super::schema::Schema;
use super::text::{date_pattern, locale};

pub(super) fn to_temporal(value: &Value, kind: Kind, schema: &Schema<'_>) -> Result {
    if value.kind() == kind {
        return Ok(value.clone());
    }
    let converted = match value {
        Value::Text(text) => match schema.text("format") {
            Some(format) if kind != Kind::TimeZone && kind != Kind::Period => {
                from_pattern(text, &format, kind, schema)?
            }
            _ => from_text(text, kind),
        },
        Value::Key(key) => from_text(key.name(), kind),
        Value::Number(number) if kind == Kind::DateTime => from_number(number, schema),
        _ => between_kinds(value, kind),
    };
    converted.ok_or_else(|| Fault::coercion(value, kind.name()))
}

fn from_text(text: &str, kind: Kind) -> Option<Value> {
    Some(match kind {
        Kind::Date => Value::Date(parse_date(text)?),
        Kind::DateTime => Value::date_time(parse_date_time(text)?),
        Kind::LocalDateTime => Value::LocalDateTime(parse_local_date_time(text)?),
        Kind::LocalTime => Value::LocalTime(parse_local_time(text)?),
        Kind::Time => match parse_time(text) {
            Some(time) => Value::Time(time),
            None => between_kinds(&Value::LocalTime(parse_local_time(text)?), kind)?,
        },
        Kind::TimeZone => Value::TimeZone(parse_time_zone(text)?),
        Kind::Period => Value::Period(text.parse().ok()?),
        _ => return None,
    })
}

fn from_pattern(
    text: &str,
    format: &str,
    kind: Kind,
    schema: &Schema<'_>,
) -> Result<Option<Value>> {
    let pattern = date_pattern(format)?;
    let Some(parsed) = read_date(&pattern, text, locale(schema)) else { return Ok(None) };
    Ok(match kind {
        Kind::Date => parsed.date().map(Value::Date),
        Kind::DateTime => parsed.zoned().map(Value::date_time),
        Kind::LocalDateTime => parsed.local().map(Value::LocalDateTime),
        Kind::LocalTime => parsed.time().map(Value::LocalTime),
        Kind::Time => parsed
            .time()
            .zip(parsed.offset())
            .map(|(time, offset)| Value::Time(OffsetTime { time, offset })),
        _ => None,
    })
}

/// Seconds or milliseconds since 1970.
fn from_number(number: &Number, schema: &Schema<'_>) -> Option<Value> {
    let whole = number.to_i64()?;
    let timestamp = match schema.text("unit").as_deref() {
        Some("milliseconds") => Timestamp::from_millisecond(whole),
        None | Some("seconds") => Timestamp::from_second(whole),
        Some(_) => return None,
    };
    Some(Value::date_time(timestamp.ok()?.to_zoned(TimeZone::fixed(jiff::tz::Offset::UTC))))
}

/// Drops the parts that the other kind does not have; a missing offset is UTC.
fn between_kinds(value: &Value, kind: Kind) -> Option<Value> {
    let utc = TimeZone::fixed(jiff::tz::Offset::UTC);
    Some(match (value, kind) {
        (Value::DateTime(zoned), Kind::Date) => Value::Date(zoned.date()),
        (Value::DateTime(zoned), Kind::LocalDateTime) => Value::LocalDateTime(zoned.datetime()),
        (Value::DateTime(zoned), Kind::LocalTime) => Value::LocalTime(zoned.time()),
        (Value::DateTime(zoned), Kind::Time) => {
            Value::Time(OffsetTime { time: zoned.time(), offset: zoned.offset() })
        }
        (Value::DateTime(zoned), Kind::TimeZone) => Value::TimeZone(zoned.time_zone().clone()),
        (Value::LocalDateTime(local), Kind::Date) => Value::Date(local.date()),
        (Value::LocalDateTime(local), Kind::LocalTime) => Value::LocalTime(local.time()),
        (Value::LocalDateTime(local), Kind::Time) => {
            Value::Time(OffsetTime { time: local.time(), offset: jiff::tz::Offset::UTC })
        }
        (Value::LocalDateTime(local), Kind::DateTime) => Value::date_time(at_zone(*local, &utc)?),
        (Value::LocalTime(time), Kind::Time) => {
            Value::Time(OffsetTime { time: *time, offset: jiff::tz::Offset::UTC })
        }
        (Value::Time(time), Kind::LocalTime) => Value::LocalTime(time.time),
        (Value::Time(time), Kind::TimeZone) => Value::TimeZone(TimeZone::fixed(time.offset)),
        _ => return None,
    })
}
