//! Messages and broadcasts.

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
    /// Whom it is for: a text or a number.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) correlation_key: Option<CorrelationKey>,
    /// What is sent.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) payload: Json,
    /// How long it is kept when nobody waits; one hour when not given, `PT0S` is not at all.
    #[serde(default)]
    #[schema(inline, example = "PT1H")]
    pub(crate) ttl: Option<DurationParam>,
    /// De-duplicates: a second message with the same id is dropped.
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

/// What became of a message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PublishResult {
    /// Its id: the one that was given, or a new one.
    pub(crate) id: String,
    /// Who got it, or was started by it.
    pub(crate) delivered: Vec<String>,
    /// Whether it is kept for somebody.
    pub(crate) kept: bool,
    /// Whether its id was seen before, so that it was dropped.
    pub(crate) duplicate: bool,
}

/// Who got a broadcast.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BroadcastResult {
    /// Who got it, or was started by it.
    pub(crate) delivered: Vec<String>,
}

/// Ids as texts.
pub(crate) fn ids(instances: &[InstanceId]) -> Vec<String> {
    instances.iter().map(ToString::to_string).collect()
}
