//! Durations and instants in requests.

use meantime_core::time::{Span, TimeError, Zone};
use meantime_core::{Json, Timestamp};
use serde::de::{Deserialize, Deserializer, Error as _};
use utoipa::openapi::schema::{Object, OneOfBuilder, Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// A non-negative ISO 8601 duration such as `PT10S`, or a number of seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DurationParam(Span);

impl DurationParam {
    /// Parses the text of a query parameter or JSON string.
    pub(crate) fn parse(text: &str) -> Result<Self, TimeError> {
        Span::parse_delay(text).map(Self)
    }

    /// The instant this long after `at`, in UTC.
    pub(crate) fn after(&self, at: Timestamp) -> Result<Timestamp, TimeError> {
        self.0.add_to(at, &Zone::UTC)
    }

    /// The length in milliseconds when it starts at `at`: months and years vary.
    pub(crate) fn millis_from(&self, at: Timestamp) -> Result<u64, TimeError> {
        let ms = self.after(at)?.saturating_since(at);
        Ok(u64::try_from(ms).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for DurationParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Numbers are kept as they are written, so the text of the value decides.
        let value = Json::deserialize(deserializer)?;
        let text = match value.read::<String>() {
            Ok(text) => text,
            Err(_) if value.as_str().starts_with(|c: char| c.is_ascii_digit()) => {
                format!("PT{}S", value.as_str())
            }
            Err(_) => return Err(D::Error::custom("a duration is a text such as \"PT10S\"")),
        };
        Self::parse(&text).map_err(|error| D::Error::custom(with_hint(&error)))
    }
}

impl PartialSchema for DurationParam {
    fn schema() -> RefOr<Schema> {
        let seconds = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0));
        let either = OneOfBuilder::new().item(Object::with_type(Type::String)).item(seconds);
        RefOr::T(Schema::OneOf(either.build()))
    }
}

impl ToSchema for DurationParam {}

/// An RFC 3339 instant, or an ISO 8601 duration from now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InstantParam {
    /// An absolute instant.
    At(Timestamp),
    /// A duration from now.
    After(DurationParam),
}

impl InstantParam {
    /// Parses the text of a query parameter or JSON string.
    pub(crate) fn parse(text: &str) -> Result<Self, TimeError> {
        if text.starts_with(['P', 'p', '-', '+']) {
            return DurationParam::parse(text).map(Self::After);
        }
        Timestamp::parse(text).map(Self::At)
    }

    /// The text of the duration, if it is one.
    pub(crate) fn duration(&self) -> Option<String> {
        match self {
            Self::At(_) => None,
            Self::After(duration) => Some(duration.0.to_string()),
        }
    }

    /// Resolves to an instant, given the current time.
    pub(crate) fn from(&self, now: Timestamp) -> Result<Timestamp, TimeError> {
        match self {
            Self::At(at) => Ok(*at),
            Self::After(duration) => duration.after(now),
        }
    }
}

impl<'de> Deserialize<'de> for InstantParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| D::Error::custom(with_hint(&error)))
    }
}

fn with_hint(error: &TimeError) -> String {
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}"))
}
