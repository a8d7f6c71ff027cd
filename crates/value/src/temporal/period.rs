//! Periods: either calendar parts or an exact duration, never both.

use std::fmt;
use std::str::FromStr;

/// A span of time. `P1D` is a calendar day, `PT24H` an exact duration; as soon as a text names
/// hours, minutes or seconds, days count as 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Years, months and days of the calendar.
    Calendar {
        /// Years.
        years: i32,
        /// Months.
        months: i32,
        /// Days.
        days: i32,
    },
    /// An exact duration.
    Exact {
        /// Whole seconds, rounded down.
        seconds: i64,
        /// Nanoseconds, from zero.
        nanos: i32,
    },
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

impl Period {
    /// A calendar period.
    pub fn calendar(years: i32, months: i32, days: i32) -> Self {
        Self::Calendar { years, months, days }
    }

    /// A duration in nanoseconds; `None` if it is too long.
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        let seconds = i64::try_from(nanos.div_euclid(NANOS_PER_SECOND)).ok()?;
        let nanos = i32::try_from(nanos.rem_euclid(NANOS_PER_SECOND)).ok()?;
        Some(Self::Exact { seconds, nanos })
    }

    /// The nanoseconds of a duration; `None` for a calendar period.
    pub fn to_nanos(self) -> Option<i128> {
        match self {
            Self::Calendar { .. } => None,
            Self::Exact { seconds, nanos } => {
                Some(i128::from(seconds) * NANOS_PER_SECOND + i128::from(nanos))
            }
        }
    }

    /// The period with the opposite sign; `None` if it does not fit.
    pub fn negated(self) -> Option<Self> {
        Some(match self {
            Self::Calendar { years, months, days } => Self::Calendar {
                years: years.checked_neg()?,
                months: months.checked_neg()?,
                days: days.checked_neg()?,
            },
            Self::Exact { .. } => Self::from_nanos(-self.to_nanos()?)?,
        })
    }
}

/// ISO 8601 as `java.time` writes it: `P1Y2M3D`, `PT25H`, `PT-0.5S`.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Calendar { years: 0, months: 0, days: 0 } => f.write_str("P0D"),
            Self::Calendar { years, months, days } => {
                f.write_str("P")?;
                for (amount, unit) in [(years, 'Y'), (months, 'M'), (days, 'D')] {
                    if amount != 0 {
                        write!(f, "{amount}{unit}")?;
                    }
                }
                Ok(())
            }
            Self::Exact { seconds: 0, nanos: 0 } => f.write_str("PT0S"),
            Self::Exact { .. } => write_exact(self.to_nanos().unwrap_or(0), f),
        }
    }
}

fn write_exact(nanos: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let seconds = nanos / NANOS_PER_SECOND;
    let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
    let (seconds, fraction) = (seconds % 60, nanos % NANOS_PER_SECOND);
    f.write_str("PT")?;
    if hours != 0 {
        write!(f, "{hours}H")?;
    }
    if minutes != 0 {
        write!(f, "{minutes}M")?;
    }
    if seconds == 0 && fraction == 0 {
        return Ok(());
    }
    let sign = if seconds < 0 || fraction < 0 { "-" } else { "" };
    write!(f, "{sign}{}", seconds.abs())?;
    if fraction != 0 {
        let digits = format!("{:09}", fraction.abs());
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    f.write_str("S")
}

/// The text is not a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a period")]
pub struct InvalidPeriod;

impl FromStr for Period {
    type Err = InvalidPeriod;

    fn from_str(text: &str) -> Result<Self, InvalidPeriod> {
        parse(text).ok_or(InvalidPeriod)
    }
}

fn parse(text: &str) -> Option<Period> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.strip_prefix(['P', 'p'])?;
    let (date, time) = match rest.find(['T', 't']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let mut calendar = PeriodParts::read(date, "YMWD")?;
    let Some(time) = time else {
        let [years, months, weeks, days] = calendar.whole()?;
        let days = weeks.checked_mul(7)?.checked_add(days)?;
        let fit = |amount: i64| i32::try_from(amount.checked_mul(sign)?).ok();
        (!date.is_empty()).then_some(())?;
        return Some(Period::calendar(fit(years)?, fit(months)?, fit(days)?));
    };
    (!time.is_empty()).then_some(())?;
    let mut exact = PeriodParts::read(time, "HMS")?;
    let [years, months, weeks, days] = calendar.whole()?;
    (years == 0 && months == 0 && weeks == 0).then_some(())?;
    let nanos = i128::from(days) * 86_400 * NANOS_PER_SECOND + exact.nanos()?;
    Period::from_nanos(nanos * i128::from(sign))
}

/// Amounts with their units, each unit at most once and in order.
struct PeriodParts<'a> {
    amounts: Vec<(&'a str, usize)>,
}

impl<'a> PeriodParts<'a> {
    fn read(text: &'a str, units: &str) -> Option<Self> {
        let mut amounts = Vec::new();
        let mut rest = text;
        let mut next = 0;
        while !rest.is_empty() {
            let at = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let unit = rest[at..].chars().next()?.to_ascii_uppercase();
            let position = units.find(unit).filter(|position| *position >= next)?;
            amounts.push((&rest[..at], position));
            next = position + 1;
            rest = &rest[at + 1..];
        }
        Some(Self { amounts })
    }

    fn whole(&mut self) -> Option<[i64; 4]> {
        let mut parts = [0; 4];
        for (text, position) in &self.amounts {
            *parts.get_mut(*position)? = text.parse().ok()?;
        }
        Some(parts)
    }

    /// Hours, minutes and seconds; only the seconds may have a fraction.
    fn nanos(&mut self) -> Option<i128> {
        let mut total = 0_i128;
        for (text, position) in &self.amounts {
            let part = match position {
                0 => i128::from(text.parse::<i64>().ok()?) * 3600 * NANOS_PER_SECOND,
                1 => i128::from(text.parse::<i64>().ok()?) * 60 * NANOS_PER_SECOND,
                _ => seconds(text)?,
            };
            total = total.checked_add(part)?;
        }
        Some(total)
    }
}

fn seconds(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let negative = whole.starts_with('-');
    let seconds = if whole.is_empty() || whole == "-" { 0 } else { whole.parse::<i64>().ok()? };
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos: i128 = format!("{fraction:0<9}").parse().ok()?;
    Some(i128::from(seconds) * NANOS_PER_SECOND + if negative { -nanos } else { nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for (text, written) in [
            ("P1Y2M3D", "P1Y2M3D"),
            ("P1W", "P7D"),
            ("-P1D", "P-1D"),
            ("P-1D", "P-1D"),
            ("P1DT1H", "PT25H"),
            ("PT1.5S", "PT1.5S"),
            ("PT-0.5S", "PT-0.5S"),
            ("PT90M", "PT1H30M"),
            ("PT0S", "PT0S"),
            ("P0D", "P0D"),
            ("pt1h", "PT1H"),
        ] {
            assert_eq!(text.parse::<Period>().unwrap().to_string(), written, "{text}");
        }
    }

    #[test]
    fn what_is_no_period_is_refused() {
        for text in
            ["", "P", "PT", "P1", "1D", "P1H", "PT1D", "P1MT1H", "P1D1Y", "PT1.5H", "P99999999999D"]
        {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }
}
