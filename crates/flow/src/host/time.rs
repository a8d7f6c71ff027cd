//! Times as scripts write them: seconds, a duration as text, or an instant.

use meantime_core::time::{Span, TimeError, Zone};
use meantime_core::{Json, Timestamp};
use meantime_script::EffectStartError;
use serde::Deserialize;

/// A time argument of a script, not parsed yet.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct UnparsedTime(Json);

/// Why a time is invalid.
#[derive(Debug)]
pub(crate) struct InvalidTime {
    pub(crate) message: String,
    error: Option<TimeError>,
}

impl InvalidTime {
    fn of(message: &str) -> Self {
        Self { message: message.to_owned(), error: None }
    }
}

impl From<TimeError> for InvalidTime {
    fn from(error: TimeError) -> Self {
        Self { message: error.to_string(), error: Some(error) }
    }
}

impl From<InvalidTime> for EffectStartError {
    fn from(problem: InvalidTime) -> Self {
        match &problem.error {
            Some(error) => Self::time(error),
            None => Self::type_error(problem.message),
        }
    }
}

impl UnparsedTime {
    pub(crate) fn of(json: Json) -> Self {
        Self(json)
    }

    pub(crate) fn of_text(text: &str) -> Self {
        Self(Json::text(text))
    }

    /// A duration: a number of seconds, possibly with a fraction, or an ISO 8601 duration.
    pub(crate) fn span(&self) -> Result<Span, InvalidTime> {
        if let Some(text) = self.text() {
            return Ok(Span::parse_delay(&text)?);
        }
        let Ok(seconds) = self.0.as_str().parse::<f64>() else {
            let text = "a time is a number of seconds or a duration such as \"PT5M\"";
            return Err(InvalidTime::of(text));
        };
        if seconds < 0.0 {
            return Err(TimeError::NegativeDuration { text: self.0.to_string() }.into());
        }
        // A number as large as the seconds since 1970 is an instant, not a delay.
        if seconds >= 1_000_000_000.0 {
            #[expect(clippy::cast_possible_truncation, reason = "casts of doubles saturate")]
            return Err(TimeError::InstantAsDelay { number: seconds as i64 }.into());
        }
        let millis = (seconds * 1000.0).round();
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        Ok(Span::from_millis(millis as i64))
    }

    /// The instant this long after now (T4: computed once, here).
    pub(crate) fn due_after(&self, now: Timestamp) -> Result<Timestamp, InvalidTime> {
        Ok(self.span()?.add_to(now, &Zone::utc())?)
    }

    /// An instant, or the one this long after now.
    pub(crate) fn deadline_instant(&self, now: Timestamp) -> Result<Timestamp, InvalidTime> {
        match self.text() {
            Some(text) if !text.starts_with(['P', '-']) => Ok(Timestamp::parse(&text)?),
            _ => self.due_after(now),
        }
    }

    /// An instant: as text, or as milliseconds since 1970.
    pub(crate) fn instant(&self) -> Result<Timestamp, InvalidTime> {
        match self.text() {
            Some(text) => Ok(Timestamp::parse(&text)?),
            None => match self.0.as_str().parse::<i64>() {
                Ok(millis) => Ok(Timestamp::from_written_millis(millis)?),
                Err(_) => Err(InvalidTime::of(
                    "an instant is a text such as \"2026-03-01T10:00:00Z\", or a whole number of \
                     milliseconds since 1970",
                )),
            },
        }
    }

    /// A duration in milliseconds, for limits of attempts and waits between them.
    pub(crate) fn duration_ms(&self) -> Result<u64, InvalidTime> {
        let millis = self.span()?.approx_millis();
        Ok(u64::try_from(millis).unwrap_or(0))
    }

    fn text(&self) -> Option<String> {
        self.0.as_str().starts_with('"').then(|| self.0.read().ok()).flatten()
    }
}
