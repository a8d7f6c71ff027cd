//! Durations in settings: ISO 8601 without calendar units.

use std::fmt;
use std::time::Duration;

use meantime_core::time::Span;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration in the configuration, such as `PT10S`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period(Duration);

impl Period {
    /// A period of whole seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl From<Period> for Duration {
    fn from(period: Period) -> Self {
        period.0
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PT{}S", self.0.as_secs_f64())
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let span = Span::parse_delay(&text).map_err(D::Error::custom)?;
        let ms = u64::try_from(span.approx_millis()).unwrap_or_default();
        Ok(Self(Duration::from_millis(ms)))
    }
}
