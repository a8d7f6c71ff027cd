//! A JSON document as text: what travels between callers, workers and notations.
//!
//! The kernel never looks inside a payload, so it carries compact text that is cheap to clone, to
//! measure and to store. A notation parses it into the value model of its language. The text is
//! checked once, where it enters.

use std::fmt;
use std::sync::Arc;

use minicbor::decode::{Decoder, Error as DecodeError};
use minicbor::encode::{Encoder, Error as EncodeError, Write};

/// A checked JSON text. `Json::default()` is `null`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json(Arc<str>);

/// The text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not valid JSON: {reason}")]
pub struct InvalidJson {
    reason: String,
}

impl InvalidJson {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "invalid_json"
    }
}

impl Json {
    /// Checks the text and keeps it as it is: numbers are never rewritten.
    pub fn parse(text: &str) -> Result<Self, InvalidJson> {
        match serde_json::from_str::<&serde_json::value::RawValue>(text) {
            Ok(raw) => Ok(Self(Arc::from(raw.get()))),
            Err(error) => Err(InvalidJson { reason: error.to_string() }),
        }
    }

    /// Turns any serialisable value into a document.
    pub fn of(value: &impl serde::Serialize) -> Result<Self, InvalidJson> {
        match serde_json::to_string(value) {
            Ok(text) => Ok(Self(text.into())),
            Err(error) => Err(InvalidJson { reason: error.to_string() }),
        }
    }

    /// The document `null`.
    pub fn null() -> Self {
        Self(Arc::from("null"))
    }

    /// The text of the document.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Size in bytes, as limits count it.
    pub fn size(&self) -> usize {
        self.0.len()
    }

    /// Whether the document is `null`.
    pub fn is_null(&self) -> bool {
        &*self.0 == "null"
    }

    /// Reads the document into a Rust value.
    pub fn read<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, InvalidJson> {
        serde_json::from_str(&self.0).map_err(|error| InvalidJson { reason: error.to_string() })
    }
}

impl Default for Json {
    fn default() -> Self {
        Self::null()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue =
            serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Json {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Ok(Self(Arc::from(raw.get())))
    }
}

impl<C> minicbor::Encode<C> for Json {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), EncodeError<W::Error>> {
        e.str(&self.0)?.ok()
    }
}

impl<'b, C> minicbor::Decode<'b, C> for Json {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
        Ok(Self(Arc::from(d.str()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_verbatim() {
        let text = "{\"a\":1.000000000000000000000000000001}";
        assert_eq!(Json::parse(text).unwrap().as_str(), text);
    }

    #[test]
    fn bad_text_is_refused_with_a_reason() {
        let error = Json::parse("{\"a\":").unwrap_err();
        assert_eq!(error.code(), "invalid_json");
        assert!(error.to_string().contains("line 1 column"));
    }
}
