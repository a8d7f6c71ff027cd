//! ISO 8601 durations (T2) and adding them to an instant (T3).
//!
//! A [`Span`] keeps its parts as written, because their meaning differs: years, months, weeks and
//! days move the local calendar; hours, minutes and seconds move the clock by an exact amount.
//! `P1D` and `PT24H` are therefore different values. All parts have the same sign.

use std::fmt;
use std::str::FromStr;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};

use super::error::Problem;
use super::text_reader::TextReader;
use super::zone::Resolved;
use super::{TimeError, Timestamp, Zone};

/// The largest number of digits of a part. Ten thousand years in seconds have twelve digits.
const MAX_DIGITS: usize = 12;
const DAY_MS: u64 = 86_400_000;
const FORM: &str = "write for example `PT10M`, `P1D` or `P1Y2M3DT4H5M6.5S`";

/// Letters of the parts in their required order, each with its position in `parts`.
const DATE_LETTERS: [(u8, usize); 4] = [(b'Y', 0), (b'M', 1), (b'W', 2), (b'D', 3)];
const TIME_LETTERS: [(u8, usize); 3] = [(b'H', 4), (b'M', 5), (b'S', 6)];

/// An ISO 8601 duration. Equality is by parts: `PT60M` and `PT1H` differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    negative: bool,
    /// Years, months, weeks, days, hours, minutes, seconds.
    parts: [u64; 7],
    /// Milliseconds, 0 to 999.
    millis: u64,
}

impl Span {
    /// The empty duration, `PT0S`.
    pub const ZERO: Self = Self { negative: false, parts: [0; 7], millis: 0 };

    /// Parses a duration, which may have a leading `-`. Only seconds may have a fraction, with a
    /// dot or a comma; digits below the millisecond are dropped.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        TextReader::new(text).span().map_err(TimeError::InvalidDuration)
    }

    /// Parses a delay: like [`Span::parse`], but negative durations are refused.
    pub fn parse_delay(text: &str) -> Result<Self, TimeError> {
        let span = Self::parse(text)?;
        if span.negative {
            return Err(TimeError::NegativeDuration { text: text.to_owned() });
        }
        Ok(span)
    }

    /// An exact duration in milliseconds, as hours, minutes and seconds.
    pub const fn from_millis(millis: i64) -> Self {
        let total = millis.unsigned_abs();
        let seconds = total / 1000;
        Self {
            negative: millis < 0,
            parts: [0, 0, 0, 0, seconds / 3600, seconds / 60 % 60, seconds % 60],
            millis: total % 1000,
        }
    }

    /// Whether it moves nothing.
    pub fn is_zero(&self) -> bool {
        self.parts == [0; 7] && self.millis == 0
    }

    /// Whether it is negative.
    pub const fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether it consists of hours, minutes and seconds only, so that no calendar is involved.
    pub fn is_exact(&self) -> bool {
        matches!(self.parts, [0, 0, 0, 0, ..])
    }

    /// The instant this long after `at` (T3).
    ///
    /// Years and months move the local date in `zone` and are clamped to the end of the month, then
    /// weeks and days move it, then the clock parts are added exactly. If the moved local time is
    /// skipped by clocks going forward, it moves on by the width of the gap (02:30 becomes 03:30);
    /// if it occurs twice, the first is taken.
    pub fn add_to(&self, at: Timestamp, zone: &Zone) -> Result<Timestamp, TimeError> {
        let moved = if self.is_exact() { Some(at) } else { self.add_calendar(at, zone) };
        let clock = self.clock_millis().and_then(|millis| self.signed(millis));
        moved
            .zip(clock)
            .and_then(|(moved, clock)| moved.checked_add_millis(clock))
            .ok_or(TimeError::OutOfRange { what: "the end of the duration" })
    }

    /// This duration `n` times, part by part: three times `P1M` is `P3M`.
    pub fn times(&self, n: u64) -> Result<Self, TimeError> {
        self.checked_times(n).ok_or(TimeError::OutOfRange { what: "the multiple of the duration" })
    }

    /// The duration with the opposite sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { negative: !self.negative && !self.is_zero(), ..self }
    }

    /// An approximate length, rounded down, to compare with a limit such as the minimum interval
    /// (S11): a year counts 365 days, a month 28, a day 24 hours.
    pub fn approx_millis(&self) -> i64 {
        let [years, months, weeks, days, ..] = self.parts;
        let days = days
            .saturating_add(weeks.saturating_mul(7))
            .saturating_add(months.saturating_mul(28))
            .saturating_add(years.saturating_mul(365));
        let clock = self.clock_millis().unwrap_or(u64::MAX);
        let total = i64::try_from(days.saturating_mul(DAY_MS).saturating_add(clock));
        let total = total.unwrap_or(i64::MAX);
        if self.negative { -total } else { total }
    }

    fn checked_times(&self, n: u64) -> Option<Self> {
        let mut product = *self;
        for part in &mut product.parts {
            *part = part.checked_mul(n)?;
        }
        let millis = self.millis.checked_mul(n)?;
        let [.., seconds] = &mut product.parts;
        *seconds = seconds.checked_add(millis / 1000)?;
        product.millis = millis % 1000;
        product.negative &= !product.is_zero();
        Some(product)
    }

    fn add_calendar(&self, at: Timestamp, zone: &Zone) -> Option<Timestamp> {
        let [years, months, weeks, days, ..] = self.parts;
        let months = self.signed(years.checked_mul(12)?.checked_add(months)?)?;
        let days = self.signed(weeks.checked_mul(7)?.checked_add(days)?)?;
        let start = zone.civil(at)?;
        let date = add_months(start.date(), months)?;
        let date = date.checked_add(0.days().try_days(days).ok()?).ok()?;
        resolve_shifted(date.to_datetime(start.time()), zone)
    }

    /// The clock parts together, without the sign.
    fn clock_millis(&self) -> Option<u64> {
        let [_, _, _, _, hours, minutes, seconds] = self.parts;
        let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
        let seconds = minutes.checked_mul(60)?.checked_add(seconds)?;
        seconds.checked_mul(1000)?.checked_add(self.millis)
    }

    fn signed(&self, magnitude: u64) -> Option<i64> {
        let value = i64::try_from(magnitude).ok()?;
        Some(if self.negative { -value } else { value })
    }
}

/// The same day of the month this many months later, or the last day of a shorter month.
fn add_months(date: Date, months: i64) -> Option<Date> {
    let index = i64::from(date.year()) * 12 + i64::from(date.month()) - 1;
    let index = index.checked_add(months)?;
    let year = i16::try_from(index.div_euclid(12)).ok()?;
    let month = i8::try_from(index.rem_euclid(12) + 1).ok()?;
    let first = Date::new(year, month, 1).ok()?;
    Date::new(year, month, date.day().min(first.days_in_month())).ok()
}

/// A skipped local time moves forward by the width of the gap; of two equal ones the first counts.
fn resolve_shifted(civil: DateTime, zone: &Zone) -> Option<Timestamp> {
    let offset = match zone.resolve(civil) {
        Resolved::Once(offset) => offset,
        Resolved::Twice { first, .. } => first,
        Resolved::Never { before, .. } => before,
    };
    Timestamp::from_civil(civil, offset)
}

impl FromStr for Span {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::parse(text)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("PT0S");
        }
        f.write_str(if self.negative { "-P" } else { "P" })?;
        let [date @ .., hours, minutes, seconds] = &self.parts;
        for (part, (letter, _)) in date.iter().zip(DATE_LETTERS).filter(|(part, _)| **part != 0) {
            write!(f, "{part}{}", char::from(letter))?;
        }
        if (hours, minutes, seconds, self.millis) == (&0, &0, &0, 0) {
            return Ok(());
        }
        f.write_str("T")?;
        for (part, letter) in [(hours, 'H'), (minutes, 'M')].into_iter().filter(|(n, _)| **n != 0) {
            write!(f, "{part}{letter}")?;
        }
        match (seconds, self.millis) {
            (0, 0) => Ok(()),
            (seconds, 0) => write!(f, "{seconds}S"),
            (seconds, millis) => {
                let digits = format!("{millis:03}");
                write!(f, "{seconds}.{}S", digits.trim_end_matches('0'))
            }
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Parses a duration part by part.
impl TextReader<'_> {
    fn span(mut self) -> Result<Span, Problem> {
        let negative = self.eat(b"-");
        if !self.eat(b"P") {
            return Err(self.problem("expected `P`", FORM));
        }
        let mut span = Span { negative, ..Span::ZERO };
        let mut found = self.parts(&mut span, &DATE_LETTERS)?;
        if self.eat(b"T") {
            if !self.parts(&mut span, &TIME_LETTERS)? {
                return Err(self.problem("expected hours, minutes or seconds after `T`", FORM));
            }
            found = true;
        }
        if self.peek().is_some() {
            return Err(self.problem("unexpected text after the duration", FORM));
        }
        if !found {
            return Err(self.problem("expected at least one part", FORM));
        }
        span.negative &= !span.is_zero();
        Ok(span)
    }

    /// Parses parts while there are digits; returns whether there were any.
    fn parts(&mut self, span: &mut Span, letters: &[(u8, usize)]) -> Result<bool, Problem> {
        let mut allowed = letters.iter();
        let mut found = false;
        while let Some((digits, value)) = self.count()? {
            let expected = "expected digits after the decimal mark";
            let fraction = self.fraction(b".,", expected, FORM)?;
            let letter = self.peek();
            // Only the remaining letters are allowed, which refuses repetitions and wrong order.
            let Some((_, part)) = allowed.find(|(known, _)| Some(*known) == letter) else {
                return Err(self.misplaced(letter, letters));
            };
            match fraction {
                Some(millis) if letter == Some(b'S') => span.millis = millis.into(),
                Some(_) => {
                    let hint = "write smaller units, such as `PT90M` for one hour and a half";
                    return Err(Problem::new(digits, "only seconds may have a fraction", hint));
                }
                None => {}
            }
            if let Some(known) = span.parts.get_mut(*part) {
                *known = value;
            }
            self.at += 1;
            found = true;
        }
        Ok(found)
    }

    fn misplaced(&self, letter: Option<u8>, letters: &[(u8, usize)]) -> Problem {
        let known = |byte: u8| letters.iter().any(|(letter, _)| *letter == byte);
        match letter {
            None => self.problem("expected a unit after the number", FORM),
            Some(byte) if known(byte) => {
                let hint = "each unit may occur once, in the order Y M W D T H M S";
                self.problem("unit repeated or out of order", hint)
            }
            Some(byte) if known(byte.to_ascii_uppercase()) => {
                self.problem("units are written in upper case", FORM)
            }
            Some(b'H' | b'S') => self.problem("clock units come after `T`", FORM),
            Some(_) => self.problem("unknown unit", FORM),
        }
    }

    fn count(&mut self) -> Result<Option<(usize, u64)>, Problem> {
        let start = self.at;
        let mut value: u64 = 0;
        while let Some(digit) = self.digit() {
            if self.at - start > MAX_DIGITS {
                let hint = "write a larger unit";
                return Err(Problem::new(start, "number is too long", hint));
            }
            value = value * 10 + u64::from(digit);
        }
        Ok((self.at > start).then_some((start, value)))
    }
}
