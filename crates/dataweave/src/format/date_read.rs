//! Reads dates and times by a pattern.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Zoned};
use meantime_core::time::{CalendarNames, DatePattern, DatePatternPart};
use meantime_value::temporal::{at_zone, parse_time_zone};

use super::Locale;

/// The fields found in the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParsedDate {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: Option<i64>,
    half_hour: Option<i64>,
    afternoon: Option<bool>,
    minute: Option<i64>,
    second: Option<i64>,
    nanos: Option<i64>,
    nanos_of_day: Option<i64>,
    offset: Option<Offset>,
    zone: Option<TimeZone>,
}

/// Reads the whole text by a pattern; none if it does not match.
pub(crate) fn read_date(pattern: &DatePattern, text: &str, locale: &Locale) -> Option<ParsedDate> {
    let mut parsed = ParsedDate::default();
    let rest = read_parts(pattern.parts(), text, &locale.names, &mut parsed)?;
    rest.is_empty().then_some(parsed)
}

fn read_parts<'t>(
    parts: &[DatePatternPart],
    text: &'t str,
    names: &CalendarNames,
    parsed: &mut ParsedDate,
) -> Option<&'t str> {
    let mut rest = text;
    for (index, part) in parts.iter().enumerate() {
        rest = match part {
            DatePatternPart::Text(expected) => rest.strip_prefix(expected.as_str())?,
            DatePatternPart::Optional(inner) => {
                let mut attempt = parsed.clone();
                match read_parts(inner, rest, names, &mut attempt) {
                    Some(after) => {
                        *parsed = attempt;
                        after
                    }
                    None => rest,
                }
            }
            DatePatternPart::Field { letter, count, .. } => {
                // The digits directly after this field belong to the next field.
                let is_adjacent =
                    matches!(parts.get(index + 1), Some(DatePatternPart::Field { .. }));
                read_field(*letter, *count, is_adjacent, rest, names, parsed)?
            }
        };
    }
    Some(rest)
}

fn read_field<'t>(
    letter: char,
    count: usize,
    is_adjacent: bool,
    text: &'t str,
    names: &CalendarNames,
    parsed: &mut ParsedDate,
) -> Option<&'t str> {
    let text = text.trim_start_matches(|c: char| letter == 'p' && c == ' ');
    match (letter, count) {
        ('M' | 'L', 3..) => {
            let (month, rest) = name(text, &[&names.months, &names.short_months])?;
            parsed.month = Some(i64::try_from(month + 1).ok()?);
            return Some(rest);
        }
        ('E', _) | ('e' | 'c', 3..) => {
            return name(text, &[&names.days, &names.short_days]).map(|(_, rest)| rest);
        }
        ('a', _) => {
            let (half, rest) = name(text, &[&names.halves])?;
            parsed.afternoon = Some(half == 1);
            return Some(rest);
        }
        ('G', _) => return name(text, &[&["AD", "BC"]]).map(|(_, rest)| rest),
        ('X' | 'x' | 'Z' | 'O', _) => return read_offset(letter, count, text, parsed),
        ('V' | 'v' | 'z', _) => return read_zone(text, parsed),
        ('S', _) => {
            let digits = text.get(..count).filter(|digits| is_digits(digits))?;
            parsed.nanos = Some(format!("{digits:0<9}").get(..9)?.parse().ok()?);
            return text.get(count..);
        }
        _ => {}
    }
    let least = if count == 1 { 1 } else { count };
    let most = match (letter, count) {
        ('y' | 'u' | 'Y', 2) => 2,
        (_, 1) => 19,
        ('y' | 'u' | 'Y', _) if !is_adjacent => 10,
        _ => count,
    };
    let digits = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if digits < least {
        return None;
    }
    let value: i64 = text.get(..digits)?.parse().ok()?;
    let position = match letter {
        'y' | 'u' | 'Y' => &mut parsed.year,
        'M' | 'L' => &mut parsed.month,
        'd' => &mut parsed.day,
        'D' => &mut parsed.day_of_year,
        'H' | 'k' => &mut parsed.hour,
        'h' | 'K' => &mut parsed.half_hour,
        'm' => &mut parsed.minute,
        's' => &mut parsed.second,
        'n' => &mut parsed.nanos,
        'N' | 'A' => &mut parsed.nanos_of_day,
        // Weeks and quarters are implied by the date, so their digits are skipped.
        _ => return text.get(digits..),
    };
    *position = Some(match (letter, count) {
        ('y' | 'u' | 'Y', 2) => 2000 + value,
        ('A', _) => value.checked_mul(1_000_000)?,
        ('k' | 'h', _) => value % if letter == 'k' { 24 } else { 12 },
        _ => value,
    });
    text.get(digits..)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The longest name that the text starts with, in any case.
fn name<'t>(text: &'t str, lists: &[&[&str]]) -> Option<(usize, &'t str)> {
    let mut best: Option<(usize, usize)> = None;
    for list in lists {
        for (index, name) in list.iter().enumerate() {
            let fits = text
                .get(..name.len())
                .is_some_and(|start| start.to_lowercase() == name.to_lowercase());
            if fits && best.is_none_or(|(_, length)| name.len() > length) {
                best = Some((index, name.len()));
            }
        }
    }
    best.and_then(|(index, length)| Some((index, text.get(length..)?)))
}

fn read_offset<'t>(
    letter: char,
    count: usize,
    text: &'t str,
    parsed: &mut ParsedDate,
) -> Option<&'t str> {
    let takes_zero = letter == 'X' || (letter == 'Z' && count == 5);
    if takes_zero && let Some(rest) = text.strip_prefix('Z') {
        parsed.offset = Some(Offset::UTC);
        return Some(rest);
    }
    let text = if letter == 'O' || (letter == 'Z' && count == 4) {
        let rest = text.strip_prefix("GMT")?;
        if !rest.starts_with(['+', '-']) {
            parsed.offset = Some(Offset::UTC);
            return Some(rest);
        }
        rest
    } else {
        text
    };
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = text.get(1..3).filter(|hours| is_digits(hours))?;
    let mut rest = text.get(3..)?;
    let mut minutes = "0";
    let colon = rest.strip_prefix(':');
    if let Some(after) = colon.or(Some(rest)).filter(|after| after.get(..2).is_some_and(is_digits))
    {
        minutes = after.get(..2)?;
        rest = after.get(2..)?;
    }
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    parsed.offset = Some(Offset::from_seconds(sign * seconds).ok()?);
    Some(rest)
}

fn read_zone<'t>(text: &'t str, parsed: &mut ParsedDate) -> Option<&'t str> {
    let is_part = |c: char| c.is_alphanumeric() || "/_+-:".contains(c);
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    parsed.zone = Some(parse_time_zone(text.get(..end)?)?);
    text.get(end..)
}

impl ParsedDate {
    /// The day; one after the end of the month, up to 31, becomes its last day.
    pub(crate) fn date(&self) -> Option<Date> {
        let year = i16::try_from(self.year?).ok()?;
        if let Some(day) = self.day_of_year {
            let first = Date::new(year, 1, 1).ok()?;
            let date = first.checked_add(Span::new().try_days(day - 1).ok()?).ok()?;
            return (date.year() == year).then_some(date);
        }
        let first = Date::new(year, i8::try_from(self.month?).ok()?, 1).ok()?;
        let day = i8::try_from(self.day?).ok().filter(|day| (1..=31).contains(day))?;
        Date::new(year, first.month(), day.min(first.days_in_month())).ok()
    }

    pub(crate) fn time(&self) -> Option<Time> {
        if let Some(nanos) = self.nanos_of_day {
            let seconds = nanos / 1_000_000_000;
            let part = |value: i64| i8::try_from(value).ok();
            let fraction = i32::try_from(nanos % 1_000_000_000).ok()?;
            let (hour, minute) = (part(seconds / 3600)?, part(seconds / 60 % 60)?);
            return Time::new(hour, minute, part(seconds % 60)?, fraction).ok();
        }
        let hour = match (self.hour, self.half_hour) {
            (Some(hour), _) => hour,
            (None, Some(half)) => half + if self.afternoon? { 12 } else { 0 },
            (None, None) => return None,
        };
        let part = |value: Option<i64>| i8::try_from(value.unwrap_or(0)).ok();
        let nanos = i32::try_from(self.nanos.unwrap_or(0)).ok()?;
        Time::new(i8::try_from(hour).ok()?, part(self.minute)?, part(self.second)?, nanos).ok()
    }

    pub(crate) fn local(&self) -> Option<DateTime> {
        Some(self.date()?.to_datetime(self.time()?))
    }

    pub(crate) fn offset(&self) -> Option<Offset> {
        self.offset.or_else(|| self.zone.as_ref()?.to_fixed_offset().ok())
    }

    pub(crate) fn zoned(&self) -> Option<Zoned> {
        let zone = match (&self.zone, self.offset) {
            (Some(zone), _) => zone.clone(),
            (None, Some(offset)) => TimeZone::fixed(offset),
            (None, None) => return None,
        };
        at_zone(self.local()?, &zone)
    }
}
