//! ISO 8601 repeating intervals (B2): `R3/PT10M` and its relatives.
//!
//! A [`Cycle`] is the parsed text, not yet a series: without a start it counts from the instant at
//! which it is armed, which [`Cycle::armed`] gets. Its interval is always longer than zero.

use std::fmt;
use std::str::FromStr;

use super::error::Problem;
use super::{First, Rule, Span, TimeError, Timestamp, Zone};

const FORM: &str = "write `R3/PT10M`, `R/PT10M`, `R3/<start>/PT10M` or `R3/PT10M/<end>`";

/// A repeating interval.
///
/// - `R3/PT10M` fires three times, the first one interval after arming;
/// - `R/PT10M` fires without end;
/// - `R3/2026-03-01T10:00:00Z/PT10M` fires first at the start itself;
/// - `R3/PT10M/2026-03-01T10:00:00Z` counts from arming, and nothing fires after the end;
/// - `R0/...` never fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cycle {
    count: Option<u64>,
    start: Option<Timestamp>,
    interval: Span,
    end: Option<Timestamp>,
}

impl Cycle {
    /// Parses a repeating interval.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        parse(text).map_err(TimeError::InvalidCycle)
    }

    /// How often it fires; `None` is without end.
    pub const fn count(&self) -> Option<u64> {
        self.count
    }

    /// The first firing, if the text names it.
    pub const fn start(&self) -> Option<Timestamp> {
        self.start
    }

    /// The time from one firing to the next.
    pub const fn interval(&self) -> Span {
        self.interval
    }

    /// The instant after which nothing fires, if the text names one.
    pub const fn end(&self) -> Option<Timestamp> {
        self.end
    }

    /// The series of this cycle when it is armed at an instant, with calendar parts in `zone`.
    pub fn armed(&self, armed_at: Timestamp, zone: Zone) -> Rule {
        let (anchor, first) = match self.start {
            Some(start) => (start, First::AtAnchor),
            None => (armed_at, First::AfterInterval),
        };
        let (interval, count, until) = (self.interval, self.count, self.end);
        Rule::Every { anchor, interval, zone, first, count, until }
    }
}

impl Cycle {
    /// The series without its limit, and how often it fires. A caller that counts firings must not
    /// also limit the positions, because one late firing covers several positions of the grid (B2).
    pub fn series(&self, armed_at: Timestamp, zone: Zone) -> (Rule, Option<u64>) {
        let unlimited = Self { count: None, ..*self };
        (unlimited.armed(armed_at, zone), self.count)
    }
}

fn parse(text: &str) -> Result<Cycle, Problem> {
    let mut offset = 0;
    let mut pieces = text.split('/').map(|piece| {
        let start = offset;
        offset += piece.len() + 1;
        (start, piece)
    });
    let count = repeats(pieces.next().unwrap_or_default().1)?;
    let Some(first) = pieces.next() else {
        return Err(Problem::new(text.len(), "expected `/` and an interval", FORM));
    };
    let (second, extra) = (pieces.next(), pieces.next());
    if let Some((start, _)) = extra {
        return Err(Problem::new(start, "too many parts", FORM));
    }
    let cycle = |start, interval, end| Cycle { count, start, interval, end };
    match (first, second) {
        (first, None) => Ok(cycle(None, interval(first)?, None)),
        (first, Some(second)) if is_span(first) && is_span(second) => {
            let hint = "only one interval is needed; the other part is a start or an end";
            Err(Problem::new(second.0, "two intervals", hint))
        }
        (first, Some(second)) if is_span(first) => {
            Ok(cycle(None, interval(first)?, Some(instant(second)?)))
        }
        (first, Some(second)) if is_span(second) => {
            Ok(cycle(Some(instant(first)?), interval(second)?, None))
        }
        (_, Some(second)) => {
            let hint = "a start and an end give no interval; write `R3/<start>/PT10M`";
            Err(Problem::new(second.0, "expected an interval", hint))
        }
    }
}

/// `R` with the number of repetitions.
fn repeats(piece: &str) -> Result<Option<u64>, Problem> {
    let Some(digits) = piece.strip_prefix('R') else {
        return Err(Problem::new(0, "expected `R`", FORM));
    };
    if digits.is_empty() {
        return Ok(None);
    }
    let valid = digits.len() <= 12 && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(count) if valid => Ok(Some(count)),
        _ => Err(Problem::new(1, "expected a count of at most 12 digits, or none", FORM)),
    }
}

/// Whether a piece is a duration: instants begin with a digit.
fn is_span((_, piece): (usize, &str)) -> bool {
    piece.trim_start_matches(['-', '+']).starts_with(['P', 'p'])
}

fn interval((start, piece): (usize, &str)) -> Result<Span, Problem> {
    let span = Span::parse(piece).map_err(|error| shifted(start, error))?;
    if span.is_zero() || span.is_negative() {
        return Err(Problem::new(start, "the interval must be longer than zero", FORM));
    }
    Ok(span)
}

fn instant((start, piece): (usize, &str)) -> Result<Timestamp, Problem> {
    Timestamp::parse(piece).map_err(|error| shifted(start, error))
}

/// Converts an error of a piece to an error of the whole text.
fn shifted(start: usize, error: TimeError) -> Problem {
    match error {
        TimeError::InvalidDuration(problem) | TimeError::InvalidInstant(problem) => {
            Problem { offset: start + problem.offset, ..problem }
        }
        other => Problem::new(start, other.to_string(), FORM),
    }
}

impl FromStr for Cycle {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::parse(text)
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("R")?;
        if let Some(count) = self.count {
            write!(f, "{count}")?;
        }
        if let Some(start) = self.start {
            write!(f, "/{start}")?;
        }
        write!(f, "/{}", self.interval)?;
        if let Some(end) = self.end {
            write!(f, "/{end}")?;
        }
        Ok(())
    }
}
