//! To numbers.

use meantime_value::temporal::Period;
use meantime_value::{Number, Value};

use super::super::eval::{Fault, Result};
use super::super::format::NumberPattern;
use super::schema::Schema;
use super::text::locale;

pub(super) fn to_number(value: &Value, schema: &Schema<'_>) -> Result<Number> {
    match value {
        Value::Number(number) => Ok(number.clone()),
        Value::Text(text) => from_text(value, text, schema),
        Value::Key(key) => from_text(value, key.name(), schema),
        Value::DateTime(zoned) => match unit(schema, "seconds").as_str() {
            "seconds" => Ok(Number::Int(zoned.timestamp().as_millisecond().div_euclid(1000))),
            "milliseconds" => Ok(Number::Int(zoned.timestamp().as_millisecond())),
            other => Err(wrong_unit(other, "milliseconds or seconds")),
        },
        Value::Period(period) => from_period(*period, schema),
        _ => Err(Fault::coercion(value, "Number")),
    }
}

fn from_text(value: &Value, text: &str, schema: &Schema<'_>) -> Result<Number> {
    let number = match schema.text("format") {
        Some(format) => match NumberPattern::parse(&format) {
            Some(pattern) => pattern.read(text, locale(schema)),
            None => {
                let format = super::text::clipped(&format);
                return Err(Fault::invalid(format!("`{format}` is not a pattern for numbers")));
            }
        },
        None => text.parse().ok(),
    };
    number.ok_or_else(|| Fault::coercion(value, "Number"))
}

fn unit(schema: &Schema<'_>, default: &str) -> String {
    schema.text("unit").map_or_else(|| default.to_owned(), |unit| unit.to_string())
}

fn wrong_unit(unit: &str, expected: &str) -> Fault {
    Fault::invalid(format!("the unit `{unit}` is none of {expected}"))
}

/// Whole units; days of a calendar period have no fixed length and are ignored.
fn from_period(period: Period, schema: &Schema<'_>) -> Result<Number> {
    match period {
        Period::Calendar { years, months, .. } => {
            let months = i64::from(years) * 12 + i64::from(months);
            match unit(schema, "months").as_str() {
                "months" => Ok(Number::Int(months)),
                "years" => Ok(Number::Int(months / 12)),
                other => Err(wrong_unit(other, "years or months")),
            }
        }
        Period::Exact { .. } => {
            let nanos = period.to_nanos().unwrap_or(0);
            let size = match unit(schema, "seconds").as_str() {
                "days" => 86_400_000_000_000,
                "hours" => 3_600_000_000_000,
                "minutes" => 60_000_000_000,
                "seconds" => 1_000_000_000,
                "milliseconds" => 1_000_000,
                "nanos" => 1,
                other => {
                    let units = "days, hours, minutes, seconds, milliseconds or nanos";
                    return Err(wrong_unit(other, units));
                }
            };
            Ok(Number::from(bigdecimal::num_bigint::BigInt::from(nanos / size)))
        }
    }
}
