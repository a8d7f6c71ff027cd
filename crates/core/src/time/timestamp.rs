//! An instant: milliseconds since the Unix epoch, in the years 0001 to 9999.
//!
//! Invariant: a [`Timestamp`] is always between [`Timestamp::MIN`] and [`Timestamp::MAX`], so that
//! printing one cannot fail and the printed text parses back to the same value. Texts are RFC 3339
//! and must have an offset (T1): a local time is not an instant.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

use super::TimeError;
use super::error::Problem;
use super::text_reader::TextReader;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
const DAY_MS: i64 = 86_400_000;
const FORM: &str = "write for example `2026-03-01T10:00:00Z` or `2026-03-01T10:00:00+01:00`";

/// An instant, to the millisecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first instant of the year 0001, in UTC.
    pub const MIN: Self = Self(-62_135_596_800_000);
    /// The last millisecond of the year 9999, in UTC.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The instant this many milliseconds after the Unix epoch, clamped to `MIN` and `MAX`.
    pub const fn from_millis(millis: i64) -> Self {
        if millis < Self::MIN.0 {
            Self::MIN
        } else if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Self(millis)
        }
    }

    /// Like [`Timestamp::from_millis`], but a value out of range is refused.
    pub const fn try_from_millis(millis: i64) -> Result<Self, TimeError> {
        if millis < Self::MIN.0 || millis > Self::MAX.0 {
            return Err(TimeError::OutOfRange { what: "the instant" });
        }
        Ok(Self(millis))
    }

    /// An instant that a person or a script wrote as milliseconds since 1970. Small numbers are
    /// refused: they are far more often seconds, or a delay, than a day before 1973.
    pub const fn from_written_millis(millis: i64) -> Result<Self, TimeError> {
        if millis.unsigned_abs() < 100_000_000_000 {
            return Err(TimeError::InstantInSeconds { number: millis });
        }
        Self::try_from_millis(millis)
    }

    /// Milliseconds since the Unix epoch; negative before it.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Parses an RFC 3339 instant. `T` and `Z` may be lower case, digits below the millisecond are
    /// dropped, and a leap second counts as the second after it.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let millis = TextReader::new(text).instant().map_err(TimeError::InvalidInstant)?;
        Self::try_from_millis(millis)
    }

    /// This instant plus the given milliseconds, or `None` if that is out of range.
    pub const fn checked_add_millis(self, millis: i64) -> Option<Self> {
        match self.0.checked_add(millis) {
            Some(sum) if sum >= Self::MIN.0 && sum <= Self::MAX.0 => Some(Self(sum)),
            _ => None,
        }
    }

    /// This instant plus the given milliseconds, clamped to `MIN` and `MAX`.
    #[must_use]
    pub const fn saturating_add_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Milliseconds from `other` to this instant; negative if `other` is later.
    pub const fn saturating_since(self, other: Self) -> i64 {
        self.0.saturating_sub(other.0)
    }

    /// The civil time on a clock that is `offset_s` seconds ahead of UTC, if it has a four-digit
    /// year.
    pub(super) fn civil(self, offset_s: i32) -> Option<DateTime> {
        let millis = self.0.checked_add(i64::from(offset_s) * 1000)?;
        EPOCH.checked_add(SignedDuration::from_millis(millis)).ok()
    }

    /// The inverse of [`Timestamp::civil`].
    pub(super) fn from_civil(civil: DateTime, offset_s: i32) -> Option<Self> {
        let millis = civil_millis(civil).checked_sub(i64::from(offset_s) * 1000)?;
        Self::try_from_millis(millis).ok()
    }
}

/// Milliseconds from the civil time of the epoch to `civil`, as if both were UTC.
fn civil_millis(civil: DateTime) -> i64 {
    let millis = civil.duration_since(EPOCH).as_millis();
    i64::try_from(millis).unwrap_or(i64::MAX)
}

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::parse(text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The range invariant makes `None` impossible; a number is still better than a panic.
        let Some(civil) = self.civil(0) else { return write!(f, "{}", self.0) };
        let (date, time) = (civil.date(), civil.time());
        write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day())?;
        write!(f, "T{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        match time.millisecond() {
            0 => f.write_str("Z"),
            millis => write!(f, ".{millis:03}Z"),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Parses the fixed layout of RFC 3339.
impl TextReader<'_> {
    fn instant(mut self) -> Result<i64, Problem> {
        let date = self.date()?;
        if !self.eat(b"Tt") {
            return Err(self.problem("expected `T` between date and time", FORM));
        }
        let hour = self.number(2, 0, 23, "hour")?;
        self.expect(b':')?;
        let minute = self.number(2, 0, 59, "minute")?;
        self.expect(b':')?;
        let second = self.number(2, 0, 60, "second")?;
        let expected = "expected digits after the decimal point";
        let fraction = self.fraction(b".", expected, FORM)?.unwrap_or_default();
        let offset_minutes = self.offset()?;
        self.end()?;

        let midnight = civil_millis(date.at(0, 0, 0, 0));
        let minutes = hour * 60 + minute - offset_minutes;
        let millis = midnight + minutes * 60_000 + second * 1000;
        if second == 60 && millis.rem_euclid(DAY_MS) != 0 {
            let hint = "a leap second exists only at 23:59:60 UTC";
            return Err(Problem::new(17, "there is no second 60 here", hint));
        }
        Ok(millis + i64::from(fraction))
    }

    fn date(&mut self) -> Result<Date, Problem> {
        let year = self.number(4, 0, 9999, "year")?;
        self.expect(b'-')?;
        let month = self.number(2, 1, 12, "month")?;
        self.expect(b'-')?;
        let start = self.at;
        let day = self.number(2, 1, 31, "day")?;
        let date = (i16::try_from(year).ok())
            .zip(i8::try_from(month).ok())
            .zip(i8::try_from(day).ok())
            .and_then(|((year, month), day)| Date::new(year, month, day).ok());
        date.ok_or_else(|| Problem::new(start, "the month has no such day", FORM))
    }

    /// `Z` or a signed offset, in minutes.
    fn offset(&mut self) -> Result<i64, Problem> {
        if self.eat(b"Zz") {
            return Ok(0);
        }
        let sign = match self.peek() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(b'[') => {
                let hint = "write the offset, such as `+01:00`; zone names are given separately";
                return Err(self.problem("a zone name is not an offset", hint));
            }
            _ => {
                let hint = "a local time names no instant; add `Z` or an offset such as `+01:00`";
                return Err(self.problem("expected `Z` or an offset", hint));
            }
        };
        self.at += 1;
        let hours = self.number(2, 0, 23, "offset hour")?;
        self.expect(b':')?;
        let minutes = self.number(2, 0, 59, "offset minute")?;
        Ok(sign * (hours * 60 + minutes))
    }

    fn end(&self) -> Result<(), Problem> {
        match self.peek() {
            None => Ok(()),
            Some(b'[') => {
                let hint = "remove the suffix in brackets; the offset already names the instant";
                Err(self.problem("a zone suffix is not supported", hint))
            }
            Some(_) => Err(self.problem("unexpected text after the instant", FORM)),
        }
    }

    fn number(&mut self, width: usize, min: i64, max: i64, what: &str) -> Result<i64, Problem> {
        let start = self.at;
        let mut value = 0;
        for _ in 0..width {
            let Some(digit) = self.digit() else {
                return Err(self.problem(format!("expected {width} digits for the {what}"), FORM));
            };
            value = value * 10 + i64::from(digit);
        }
        if value < min || value > max {
            let reason = format!("{what} is not within {min} and {max}");
            return Err(Problem::new(start, reason, FORM));
        }
        Ok(value)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.eat(&[byte]) {
            return Ok(());
        }
        Err(self.problem(format!("expected `{}`", char::from(byte)), FORM))
    }
}
