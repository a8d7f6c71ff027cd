//! Writes dates and times by a pattern.

use jiff::Zoned;
use meantime_core::time::{DateFields, DatePattern};
use meantime_value::Value;
use meantime_value::temporal::format_time_zone;

use super::Locale;

/// A value in a pattern; an error if it lacks a field.
pub(crate) fn write_date(
    pattern: &DatePattern,
    value: &Value,
    locale: &Locale,
) -> Result<String, String> {
    let mut fields = DateFields { date: None, time: None, offset: None, zone_name: None };
    let name_of_zone;
    match value.bare() {
        Value::Date(date) => fields.date = Some(*date),
        Value::LocalTime(time) => fields.time = Some(*time),
        Value::Time(time) => {
            fields.time = Some(time.time);
            fields.offset = Some(time.offset);
        }
        Value::LocalDateTime(local) => {
            fields.date = Some(local.date());
            fields.time = Some(local.time());
        }
        Value::DateTime(zoned) => {
            fields.date = Some(zoned.date());
            fields.time = Some(zoned.time());
            fields.offset = Some(zoned.offset());
            name_of_zone = |letter| zone_name(zoned, letter);
            fields.zone_name = Some(&name_of_zone);
        }
        other => return Err(format!("a {} has no date pattern", other.kind().name())),
    }
    let text = pattern.write(&fields, &locale.names);
    text.map_err(|missing| format!("the value has no field for `{}`", missing.letter))
}

/// `V` is the id of the zone; the other letters name what it has at this moment, such as `CEST`.
fn zone_name(zoned: &Zoned, letter: char) -> String {
    let is_region = zoned.time_zone().to_fixed_offset().is_err();
    if letter == 'V' || !is_region {
        return format_time_zone(zoned.time_zone());
    }
    zoned.strftime("%Z").to_string()
}
