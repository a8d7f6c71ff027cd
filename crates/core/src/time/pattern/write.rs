//! Writes dates and times by a pattern.

use jiff::civil::{Date, Time};
use jiff::tz::Offset;

use super::names::CalendarNames;
use super::parse::{Alphabet, DatePattern, DatePatternPart};

/// The fields that a value has.
#[derive(Clone, Copy)]
pub struct DateFields<'v> {
    /// The day, if it has one.
    pub date: Option<Date>,
    /// The time of the day, if it has one.
    pub time: Option<Time>,
    /// The offset from UTC, if it has one.
    pub offset: Option<Offset>,
    /// The name of its time zone, for the letters `V`, `v` and `z`; the offset stands for it if
    /// there is none.
    pub zone_name: Option<&'v dyn Fn(char) -> String>,
}

/// A field of the pattern that the value does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingDateField {
    /// Its letter.
    pub letter: char,
    /// The byte offset in the pattern.
    pub offset: usize,
}

impl DatePattern {
    /// The value in this pattern.
    pub fn write(
        &self,
        fields: &DateFields<'_>,
        names: &CalendarNames,
    ) -> Result<String, MissingDateField> {
        let mut out = String::new();
        self.write_parts(&self.parts, fields, names, &mut out)?;
        Ok(out)
    }

    fn write_parts(
        &self,
        parts: &[DatePatternPart],
        fields: &DateFields<'_>,
        names: &CalendarNames,
        out: &mut String,
    ) -> Result<(), MissingDateField> {
        for part in parts {
            match part {
                DatePatternPart::Text(text) => out.push_str(text),
                DatePatternPart::Optional(inner) => {
                    let mut optional = String::new();
                    if self.write_parts(inner, fields, names, &mut optional).is_ok() {
                        out.push_str(&optional);
                    }
                }
                DatePatternPart::Field { letter, count, pad, offset } => {
                    let (letter, offset) = (*letter, *offset);
                    // Java abbreviates offsets by the count of `X`; other languages differ.
                    let is_shared = self.alphabet == Alphabet::Java
                        || (letter, *count) == ('X', 3)
                        || letter != 'X'
                        || fields.offset == Some(Offset::UTC);
                    let text = fields.field(letter, *count, names).filter(|_| is_shared);
                    let text = text.ok_or(MissingDateField { letter, offset })?;
                    out.extend(std::iter::repeat_n(' ', pad.saturating_sub(text.chars().count())));
                    out.push_str(&text);
                }
            }
        }
        Ok(())
    }
}

impl DateFields<'_> {
    fn field(&self, letter: char, count: usize, names: &CalendarNames) -> Option<String> {
        match letter {
            'G' | 'u' | 'y' | 'D' | 'M' | 'L' | 'd' | 'Q' | 'q' | 'Y' | 'w' | 'W' | 'E' | 'e'
            | 'c' | 'F' => date_field(self.date?, letter, count, names),
            'V' | 'v' | 'z' | 'O' | 'X' | 'x' | 'Z' => self.zone_field(letter, count),
            _ => time_field(self.time?, letter, count, names),
        }
    }

    fn zone_field(&self, letter: char, count: usize) -> Option<String> {
        let offset = self.offset?;
        match letter {
            'V' | 'v' | 'z' => match self.zone_name {
                Some(zone_name) => Some(zone_name(letter)),
                None => Some(offset_text(offset, 3, "Z")),
            },
            'O' => Some(localized_offset(offset, count >= 4)),
            'X' => Some(offset_text(offset, count, "Z")),
            'x' => Some(offset_text(offset, count, "")),
            'Z' if count <= 3 => Some(offset_text(offset, 2, "")),
            'Z' if count == 4 => Some(localized_offset(offset, true)),
            _ => Some(offset_text(offset, 3, "Z")),
        }
    }
}

/// `+01`, `+0130`, `+01:30`; the given text for a zero offset, if there is one.
fn offset_text(offset: Offset, style: usize, zero: &str) -> String {
    let seconds = offset.seconds();
    if seconds == 0 && !zero.is_empty() {
        return zero.to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() % 3600 / 60);
    match style {
        1 if minutes == 0 => format!("{sign}{hours:02}"),
        1 | 2 => format!("{sign}{hours:02}{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}"),
    }
}

/// `GMT-8`, `GMT-08:00`.
fn localized_offset(offset: Offset, full: bool) -> String {
    let seconds = offset.seconds();
    if seconds == 0 {
        return "GMT".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() % 3600 / 60);
    if full {
        format!("GMT{sign}{hours:02}:{minutes:02}")
    } else if minutes == 0 {
        format!("GMT{sign}{hours}")
    } else {
        format!("GMT{sign}{hours}:{minutes:02}")
    }
}

fn date_field(date: Date, letter: char, count: usize, names: &CalendarNames) -> Option<String> {
    let month = usize::try_from(date.month() - 1).ok()?;
    let weekday = usize::try_from(date.weekday().to_monday_zero_offset()).ok()?;
    let number = |value: i64| padded(value, count);
    Some(match (letter, count) {
        ('G', 1..=3) => "AD".to_owned(),
        ('G', 4) => "Anno Domini".to_owned(),
        ('G', _) => "A".to_owned(),
        ('u' | 'y', _) => year(i64::from(date.year()), count),
        ('Y', _) => year(week_based(date).0, count),
        ('w', _) => number(week_based(date).1),
        ('W', _) => number(week_of(i64::from(date.day()), weekday)),
        ('F', _) => number((i64::from(date.day()) - 1) / 7 + 1),
        ('D', _) => number(i64::from(date.day_of_year())),
        ('d', _) => number(i64::from(date.day())),
        ('M' | 'L', 1 | 2) => number(i64::from(date.month())),
        ('M' | 'L', 3) => names.short_months.get(month)?.to_string(),
        ('M' | 'L', 4) => names.months.get(month)?.to_string(),
        ('M' | 'L', _) => first_letter(names.months.get(month)?),
        ('Q' | 'q', 1 | 2) => number(i64::from(date.month() - 1) / 3 + 1),
        ('Q' | 'q', 3) => format!("Q{}", month / 3 + 1),
        ('Q' | 'q', 4) => {
            let quarter = ["1st", "2nd", "3rd", "4th"].get(month / 3)?;
            format!("{quarter} quarter")
        }
        ('Q' | 'q', _) => format!("{}", month / 3 + 1),
        ('e' | 'c', 1 | 2) => number(i64::try_from((weekday + 1) % 7 + 1).ok()?),
        ('E' | 'e' | 'c', 1..=3) => names.short_days.get(weekday)?.to_string(),
        ('E' | 'e' | 'c', 4) => names.days.get(weekday)?.to_string(),
        _ => first_letter(names.days.get(weekday)?),
    })
}

fn first_letter(word: &str) -> String {
    word.chars().take(1).collect::<String>().to_uppercase()
}

/// Two letters give the last two digits.
fn year(year: i64, count: usize) -> String {
    if count == 2 { format!("{:02}", year.rem_euclid(100)) } else { padded(year, count) }
}

fn padded(value: i64, width: usize) -> String {
    format!("{value:0width$}")
}

/// The week of a day; weeks begin on Sunday and the first one may be shorter.
fn week_of(day: i64, weekday: usize) -> i64 {
    // The index of the day in its week, from Sunday.
    let position = i64::try_from((weekday + 1) % 7).unwrap_or(0);
    (day - 1 - position + 6).div_euclid(7) + 1
}

/// Year and week; the last days of December may belong to the first week of the next year.
fn week_based(date: Date) -> (i64, i64) {
    let weekday = usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0);
    let week = week_of(i64::from(date.day_of_year()), weekday);
    let last = date.last_of_year();
    let last_position =
        (usize::try_from(last.weekday().to_monday_zero_offset()).unwrap_or(0) + 1) % 7;
    let days_left = i64::from(last.day_of_year()) - i64::from(date.day_of_year());
    let year = i64::from(date.year());
    // The week with the first of January is the first week of its year.
    if last_position < 6 && days_left <= i64::try_from(last_position).unwrap_or(0) {
        (year + 1, 1)
    } else {
        (year, week)
    }
}

fn time_field(time: Time, letter: char, count: usize, names: &CalendarNames) -> Option<String> {
    let hour = i64::from(time.hour());
    let nanos = i64::from(time.subsec_nanosecond());
    let seconds = (hour * 60 + i64::from(time.minute())) * 60 + i64::from(time.second());
    let of_day = seconds * 1_000_000_000 + nanos;
    let number = |value: i64| padded(value, count);
    Some(match letter {
        'a' => names.halves.get(usize::from(hour >= 12))?.to_string(),
        'B' => part_of_day(hour).to_owned(),
        'h' => number(if hour % 12 == 0 { 12 } else { hour % 12 }),
        'K' => number(hour % 12),
        'k' => number(if hour == 0 { 24 } else { hour }),
        'H' => number(hour),
        'm' => number(i64::from(time.minute())),
        's' => number(i64::from(time.second())),
        'S' => format!("{nanos:09}").chars().take(count).collect(),
        'A' => number(of_day / 1_000_000),
        'n' => number(nanos),
        'N' => number(of_day),
        _ => return None,
    })
}

fn part_of_day(hour: i64) -> &'static str {
    match hour {
        6..12 => "in the morning",
        12..18 => "in the afternoon",
        18..21 => "in the evening",
        _ => "at night",
    }
}
