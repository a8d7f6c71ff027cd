//! An instant as text by a pattern such as `yyyy-MM-dd HH:mm`, in a zone.

use std::fmt::Write as _;

use jiff::civil::DateTime;

use super::error::Problem;
use super::{TimeError, Timestamp, Zone};

/// English names of the months, from January.
pub const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// English names of the weekdays, from Monday.
pub const WEEKDAY_NAMES: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const HINT: &str = "use yyyy, MM, MMM, dd, EEE, HH, hh, mm, ss, SSS, a and XXX; put other letters \
                    between single quotes";

impl Zone {
    /// Formats an instant by a pattern: letters have a meaning, text in single quotes and all other
    /// characters stand for themselves. Month and day names are English.
    pub fn format(&self, at: Timestamp, pattern: &str) -> Result<String, TimeError> {
        let civil = self.civil(at).ok_or(TimeError::OutOfRange { what: "the local time" })?;
        let offset_s = self.offset_at(at);
        let mut text = String::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let run = rest.len() - rest.trim_start_matches(first).len();
            let offset = pattern.len() - rest.len();
            let taken = if first == '\'' {
                quoted(rest, offset, &mut text)?
            } else if first.is_ascii_alphabetic() {
                letters(first, run, civil, offset_s, &mut text)
                    .ok_or_else(|| unknown(offset, first))?;
                run
            } else {
                text.push(first);
                first.len_utf8()
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(text)
    }
}

fn unknown(offset: usize, letter: char) -> TimeError {
    let reason = format!("no meaning for these letters, beginning with `{letter}`");
    TimeError::InvalidPattern(Problem::new(offset, reason, HINT))
}

/// Text in quotes; two quotes stand for one, also inside a quoted text. Returns the number of bytes
/// read.
fn quoted(rest: &str, offset: usize, text: &mut String) -> Result<usize, TimeError> {
    let inside = rest.get(1..).unwrap_or_default();
    if inside.starts_with('\'') {
        text.push('\'');
        return Ok(2);
    }
    let mut at = 0;
    while let Some(length) = inside.get(at..).and_then(|rest| rest.find('\'')) {
        text.push_str(inside.get(at..at + length).unwrap_or_default());
        at += length + 1;
        if !inside.get(at..).is_some_and(|rest| rest.starts_with('\'')) {
            return Ok(at + 1);
        }
        text.push('\'');
        at += 1;
    }
    Err(TimeError::InvalidPattern(Problem::new(offset, "a quote is not closed", HINT)))
}

fn letters(
    letter: char,
    run: usize,
    civil: DateTime,
    offset_s: i32,
    text: &mut String,
) -> Option<()> {
    let (date, time) = (civil.date(), civil.time());
    let mut number = |value: i32, least: usize| write!(text, "{value:0least$}").ok();
    let hour12 = match time.hour().rem_euclid(12) {
        0 => 12,
        hour => hour,
    };
    match (letter, run) {
        ('y', 4) => number(i32::from(date.year()), 4),
        ('y', 2) => number(i32::from(date.year()).rem_euclid(100), 2),
        ('M', 1 | 2) => number(i32::from(date.month()), run),
        ('d', 1 | 2) => number(i32::from(date.day()), run),
        ('D', 1..=3) => number(i32::from(date.day_of_year()), run),
        ('H', 1 | 2) => number(i32::from(time.hour()), run),
        ('h', 1 | 2) => number(i32::from(hour12), run),
        ('m', 1 | 2) => number(i32::from(time.minute()), run),
        ('s', 1 | 2) => number(i32::from(time.second()), run),
        ('S', 3) => number(i32::from(time.millisecond()), 3),
        ('M', 3 | 4) => name(&MONTH_NAMES, date.month(), run == 3, text),
        ('E', 1..=4) => name(&WEEKDAY_NAMES, date.weekday().to_monday_one_offset(), run < 4, text),
        ('a', 1) => write!(text, "{}", if time.hour() < 12 { "AM" } else { "PM" }).ok(),
        ('X', 1..=3) if offset_s == 0 => write!(text, "Z").ok(),
        ('X' | 'x', 3) => {
            let (sign, minutes) = (if offset_s < 0 { '-' } else { '+' }, offset_s.abs() / 60);
            write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60).ok()
        }
        _ => None,
    }
}

/// The name of a month or day, numbered from 1.
fn name(names: &[&str], number: i8, short: bool, text: &mut String) -> Option<()> {
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    let name = names.get(place)?;
    text.push_str(if short { name.get(..3)? } else { name });
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(zone: &str, pattern: &str) -> Result<String, TimeError> {
        let at = Timestamp::parse("2026-03-01T22:05:09.007Z").unwrap();
        Zone::parse(zone).unwrap().format(at, pattern)
    }

    #[test]
    fn letters_have_their_usual_meaning() {
        assert_eq!(
            format("UTC", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX").unwrap(),
            "2026-03-01T22:05:09.007Z"
        );
        assert_eq!(
            format("Asia/Tokyo", "EEE d MMM yyyy, h:mm a").unwrap(),
            "Mon 2 Mar 2026, 7:05 AM"
        );
        assert_eq!(format("Asia/Tokyo", "xxx EEEE MMMM D").unwrap(), "+09:00 Monday March 61");
        assert_eq!(format("America/St_Johns", "XXX").unwrap(), "-03:30");
        assert_eq!(format("UTC", "HH 'o''clock'").unwrap(), "22 o'clock");
        assert_eq!(format("UTC", "HH ''").unwrap(), "22 '");
        assert_eq!(format("UTC", "'a'''HH").unwrap(), "a'22");
        assert_eq!(format("UTC", "'a''").unwrap_err().offset(), Some(0));
    }

    #[test]
    fn other_letters_are_refused_with_their_place() {
        let error = format("UTC", "yyyy-MM-ddTHH").unwrap_err();
        assert_eq!((error.code(), error.offset()), ("invalid_pattern", Some(10)));
        assert_eq!(format("UTC", "'open").unwrap_err().offset(), Some(0));
    }
}
