//! A parsed cron expression.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::calendar::Calendar;
use super::parse;
use crate::time::TimeError;

/// A cron expression, without a zone: matching needs one. Equality is by text.
#[derive(Clone)]
pub struct Cron {
    text: Arc<str>,
    pub(super) calendar: Calendar,
    /// Whether the hour field has a `*` or a step.
    pub(super) elapsed: bool,
}

impl Cron {
    /// Parses a cron expression; one that never matches is refused.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let (calendar, elapsed) = parse::expression(text).map_err(TimeError::InvalidCron)?;
        let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if !calendar.ever_matches() {
            return Err(TimeError::CronNeverMatches { text });
        }
        Ok(Self { text: text.into(), calendar, elapsed })
    }

    /// The expression, with single spaces between its fields.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The shortest time between two matches, on a day without a clock change.
    pub fn least_gap_ms(&self) -> i64 {
        self.calendar.times.least_gap() * 1_000
    }

    /// Whether it follows elapsed time through clock changes, instead of naming local times.
    pub const fn follows_elapsed_time(&self) -> bool {
        self.elapsed
    }
}

impl FromStr for Cron {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::parse(text)
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Cron {}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
