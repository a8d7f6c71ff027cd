//! Wire types of messages and broadcast signals.

use meantime_core::{InstanceId, Json};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::DurationParam;

/// A message to publish.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewMessage {
    /// Its name.
    pub(crate) name: String,
    /// The correlation key: a text or a number.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) correlation_key: Option<CorrelationKey>,
    /// The payload.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) payload: Json,
    /// How long it is buffered if no instance waits for it; one hour by default, `PT0S` means not
    /// at all.
    #[serde(default)]
    #[schema(inline, example = "PT1H")]
    pub(crate) ttl: Option<DurationParam>,
    /// Deduplication id: a second message with the same id is dropped.
    #[serde(default)]
    pub(crate) id: Option<String>,
}

/// A correlation key: a text, or a number as it is written.
#[derive(Debug, Clone)]
pub(crate) struct CorrelationKey(pub(crate) String);

impl<'de> Deserialize<'de> for CorrelationKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Json::deserialize(deserializer)?;
        if let Ok(text) = value.read::<String>() {
            return Ok(Self(text));
        }
        let text = value.as_str();
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Ok(Self(text.to_owned()));
        }
        Err(D::Error::custom("a correlation key is a text or a number"))
    }
}

impl PartialSchema for CorrelationKey {
    fn schema() -> RefOr<Schema> {
        let (text, number) = (Object::with_type(Type::String), Object::with_type(Type::Number));
        RefOr::T(Schema::OneOf(OneOfBuilder::new().item(text).item(number).build()))
    }
}

impl ToSchema for CorrelationKey {}

/// The result of publishing a message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PublishResult {
    /// The given id, or a generated one.
    pub(crate) id: String,
    /// Ids of the instances that received it or were started by it.
    pub(crate) delivered: Vec<String>,
    /// Whether it is buffered.
    pub(crate) kept: bool,
    /// Whether it was dropped because its id was seen before.
    pub(crate) duplicate: bool,
}

/// The result of broadcasting a signal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BroadcastResult {
    /// Ids of the instances that received it or were started by it.
    pub(crate) delivered: Vec<String>,
}

/// Ids as texts.
pub(crate) fn ids(instances: &[InstanceId]) -> Vec<String> {
    instances.iter().map(ToString::to_string).collect()
}
