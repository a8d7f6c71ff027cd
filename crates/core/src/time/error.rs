//! Errors of texts and arithmetic about time.
//!
//! Each variant has a stable code on which callers and documents can rely; the messages are for
//! people and may change.

use std::borrow::Cow;

/// A text about time that is refused, or a result out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not an RFC 3339 instant with an offset (T1).
    #[error("invalid instant: {0}")]
    InvalidInstant(Problem),
    /// Not an ISO 8601 duration (T2).
    #[error("invalid duration: {0}")]
    InvalidDuration(Problem),
    /// A negative duration where a delay is meant (T2).
    #[error("a delay cannot be negative: {text}")]
    NegativeDuration {
        /// The duration as it was written.
        text: String,
    },
    /// Not one of the supported repeating intervals (B2).
    #[error("invalid cycle: {0}")]
    InvalidCycle(Problem),
    /// An interval that is zero or negative and gives no series (S11).
    #[error("an interval must be longer than zero: {text}")]
    InvalidInterval {
        /// The interval as it was written.
        text: String,
    },
    /// Not a cron expression (S13).
    #[error("invalid cron expression: {0}")]
    InvalidCron(Problem),
    /// A cron expression that matches no day of any year, such as 31 June.
    #[error("cron expression never matches: {text}")]
    CronNeverMatches {
        /// The expression as it was written.
        text: String,
    },
    /// Not a pattern for formatting an instant.
    #[error("invalid pattern: {0}")]
    InvalidPattern(Problem),
    /// No such IANA time zone.
    #[error("unknown time zone {name:?}")]
    UnknownZone {
        /// The name as it was written.
        name: String,
        /// The zone that was probably meant.
        meant: Option<String>,
    },
    /// A number for an instant that is too small for milliseconds since 1970.
    #[error("{number} milliseconds since 1970 is before 1973")]
    InstantInSeconds {
        /// The number as it was given.
        number: i64,
    },
    /// A number of seconds for a delay that is as large as an instant.
    #[error("a delay of {number} seconds is longer than thirty years")]
    InstantAsDelay {
        /// The number as it was given.
        number: i64,
    },
    /// An instant or a duration that leaves the years 0001 to 9999.
    #[error("time out of range: {what}")]
    OutOfRange {
        /// What left the range.
        what: &'static str,
    },
}

/// Where a text is invalid, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Byte offset into the text.
    pub offset: usize,
    /// The problem at this position.
    pub reason: Cow<'static, str>,
    /// How to fix it.
    pub hint: Cow<'static, str>,
}

impl TimeError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidInstant(_) => "invalid_instant",
            Self::InvalidDuration(_) => "invalid_duration",
            Self::NegativeDuration { .. } => "negative_duration",
            Self::InvalidCycle(_) => "invalid_cycle",
            Self::InvalidInterval { .. } => "invalid_interval",
            Self::InvalidCron(_) => "invalid_cron",
            Self::CronNeverMatches { .. } => "cron_never_matches",
            Self::InvalidPattern(_) => "invalid_pattern",
            Self::UnknownZone { .. } => "unknown_zone",
            Self::InstantInSeconds { .. } => "instant_in_seconds",
            Self::InstantAsDelay { .. } => "instant_as_delay",
            Self::OutOfRange { .. } => "time_out_of_range",
        }
    }

    /// The byte offset of the problem in the text, if it has one position.
    pub fn offset(&self) -> Option<usize> {
        self.problem().map(|problem| problem.offset)
    }

    /// How to fix it.
    pub fn hint(&self) -> Option<Cow<'_, str>> {
        let fixed = match self {
            Self::NegativeDuration { .. } => "remove the leading `-`",
            Self::InvalidInterval { .. } => "write an interval such as `PT10M`",
            Self::CronNeverMatches { .. } => "no month has that day; check day and month",
            Self::InstantInSeconds { .. } => {
                "multiply seconds by 1000, or write the instant as `2026-03-01T10:00:00Z`"
            }
            Self::InstantAsDelay { .. } => {
                "use `Timer.until` for an instant, or write a duration such as `P40Y`"
            }
            Self::OutOfRange { .. } => "instants lie in the years 0001 to 9999",
            Self::UnknownZone { meant, .. } => {
                return Some(match meant {
                    Some(zone) => Cow::Owned(format!("did you mean `{zone}`?")),
                    None => Cow::Borrowed("write an IANA name such as `Europe/Berlin` or `UTC`"),
                });
            }
            _ => return self.problem().map(|problem| Cow::Borrowed(&*problem.hint)),
        };
        Some(Cow::Borrowed(fixed))
    }

    fn problem(&self) -> Option<&Problem> {
        match self {
            Self::InvalidInstant(problem)
            | Self::InvalidDuration(problem)
            | Self::InvalidCycle(problem)
            | Self::InvalidCron(problem)
            | Self::InvalidPattern(problem) => Some(problem),
            _ => None,
        }
    }
}

impl Problem {
    pub(super) fn new(
        offset: usize,
        reason: impl Into<Cow<'static, str>>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { offset, reason: reason.into(), hint: hint.into() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at offset {}", self.reason, self.offset)
    }
}
