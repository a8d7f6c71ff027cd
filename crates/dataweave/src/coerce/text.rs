//! To text.

use bigdecimal::RoundingMode;
use meantime_core::time::{Alphabet, DatePattern, DatePatternProblem};
use meantime_value::temporal::{
    format_date_time, format_local_date_time, format_offset, format_time, format_time_zone,
};
use meantime_value::{Number, Text, Value};

use super::super::eval::{Fault, FaultCode, Result};
use super::super::format::{Locale, NumberPattern, write_date};
use super::super::types::Type;
use super::binary;
use super::schema::Schema;

pub(super) fn to_text(value: &Value, schema: &Schema<'_>) -> Result<Text> {
    Ok(match value.bare() {
        Value::Text(text) | Value::Uri(text) => text.clone(),
        Value::Bool(true) => Text::from("true"),
        Value::Bool(false) => Text::from("false"),
        Value::Number(number) => number_text(number, schema)?,
        Value::Key(key) => key.name().clone(),
        Value::Date(_)
        | Value::DateTime(_)
        | Value::LocalDateTime(_)
        | Value::LocalTime(_)
        | Value::Time(_) => temporal_text(value.bare(), schema)?.into(),
        Value::TimeZone(zone) => format_time_zone(zone).into(),
        Value::Period(period) => period.to_string().into(),
        Value::Regex(pattern) => pattern.source().clone(),
        Value::Binary(bytes) => binary::to_text(value, bytes, schema)?,
        Value::Namespace(namespace) => namespace.uri.clone(),
        Value::Foreign(_) => match Type::from_value(value) {
            Some(kind) => kind.to_string().into(),
            None => return Err(Fault::coercion(value, "String")),
        },
        Value::Null
        | Value::Array(_)
        | Value::Range(_)
        | Value::Object(_)
        | Value::Annotated(_) => {
            return Err(Fault::coercion(value, "String"));
        }
    })
}

fn number_text(number: &Number, schema: &Schema<'_>) -> Result<Text> {
    let Some(format) = schema.text("format") else { return Ok(number.to_string().into()) };
    let Some(pattern) = NumberPattern::parse(&format) else {
        let message = format!("`{}` is not a pattern for numbers", clipped(&format));
        return Err(Fault::new(FaultCode::Coercion, message));
    };
    let rounding = match schema.text("roundMode") {
        Some(name) => rounding(&name)?,
        None => RoundingMode::HalfUp,
    };
    Ok(pattern.write(number, locale(schema), rounding).into())
}

fn rounding(name: &str) -> Result<RoundingMode> {
    Ok(match name {
        "UP" => RoundingMode::Up,
        "DOWN" => RoundingMode::Down,
        "CEILING" => RoundingMode::Ceiling,
        "FLOOR" => RoundingMode::Floor,
        "HALF_UP" | "UNNECESSARY" => RoundingMode::HalfUp,
        "HALF_DOWN" => RoundingMode::HalfDown,
        "HALF_EVEN" => RoundingMode::HalfEven,
        _ => return Err(Fault::invalid(format!("`{name}` is not a way of rounding"))),
    })
}

pub(super) fn locale(schema: &Schema<'_>) -> &'static Locale {
    schema.text("locale").map_or(Locale::english(), |tag| Locale::find(&tag))
}

fn temporal_text(value: &Value, schema: &Schema<'_>) -> Result<String> {
    if let Some(format) = schema.text("format") {
        let pattern = date_pattern(&format)?;
        return write_date(&pattern, value, locale(schema)).map_err(|reason| {
            let kind = value.kind().name();
            let message = format!("cannot write a {kind} as `{format}`: {reason}");
            Fault::new(FaultCode::Coercion, message)
        });
    }
    Ok(match value {
        Value::Date(date) => date.to_string(),
        Value::DateTime(zoned) => format_date_time(zoned),
        Value::LocalDateTime(local) => format_local_date_time(*local),
        Value::LocalTime(time) => format_time(*time),
        Value::Time(time) => format!("{}{}", format_time(time.time), format_offset(time.offset)),
        _ => String::new(),
    })
}

/// Bytes of a pattern. It determines the widths of its fields; the resulting text has its own
/// limit.
const MAX_PATTERN_BYTES: usize = 10_000;

pub(super) fn date_pattern(format: &str) -> Result<DatePattern> {
    let pattern = if format.len() > MAX_PATTERN_BYTES {
        Err(format!("it has more than {MAX_PATTERN_BYTES} bytes"))
    } else {
        DatePattern::parse(format, Alphabet::Java).map_err(|error| match error.problem {
            DatePatternProblem::OpenQuote => "a quote in the pattern is not closed".to_owned(),
            DatePatternProblem::OpenBracket => "`[` is not closed".to_owned(),
            DatePatternProblem::Reserved(sign) => format!("`{sign}` cannot be used in a pattern"),
            DatePatternProblem::UnknownLetter(letter) => {
                format!("`{letter}` is not a letter of date patterns; quote text with '")
            }
        })
    };
    pattern.map_err(|reason| {
        let message = format!("`{}` is not a pattern for dates: {reason}", clipped(format));
        Fault::new(FaultCode::Coercion, message)
    })
}

/// A pattern, shortened for messages.
pub(super) fn clipped(pattern: &str) -> String {
    if pattern.len() <= 80 {
        return pattern.to_owned();
    }
    let start: String = pattern.chars().take(40).collect();
    format!("{start}…")
}
