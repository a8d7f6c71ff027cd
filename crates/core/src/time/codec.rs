//! Stored and wire forms: every type with a text form is stored and sent as that text.
//!
//! Text is stable across releases, readable in a database, and checked again when it is read.

/// Implements serde and CBOR as a string for types with `Display` and `FromStr<Err = TimeError>`.
macro_rules! text_codec {
    ($($type:ty => $expecting:literal),+ $(,)?) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    )+};
}

/// Implements CBOR as a text string, on top of `Display` and `FromStr`.
macro_rules! text_cbor {
    ($($type:ty),+ $(,)?) => {$(
        impl<C> minicbor::Encode<C> for $type {
            fn encode<W: minicbor::encode::Write>(
                &self,
                e: &mut minicbor::Encoder<W>,
                _: &mut C,
            ) -> Result<(), minicbor::encode::Error<W::Error>> {
                e.str(&self.to_string())?.ok()
            }
        }

        impl<'b, C> minicbor::Decode<'b, C> for $type {
            fn decode(
                d: &mut minicbor::Decoder<'b>,
                _: &mut C,
            ) -> Result<Self, minicbor::decode::Error> {
                let at = d.position();
                d.str()?.parse().map_err(|e| minicbor::decode::Error::custom::<TimeError>(e).at(at))
            }
        }
    )+};
}

use super::{Cron, Cycle, Span, TimeError, Timestamp, Zone};

text_codec! {
    Timestamp => "an RFC 3339 instant with an offset",
    Zone => "an IANA time zone name",
    Span => "an ISO 8601 duration",
    Cycle => "an ISO 8601 repeating interval",
    Cron => "a cron expression",
}

text_cbor!(Zone, Span, Cycle, Cron);

// Instants are the exception: numbers can be sorted and compared in the store.
impl<C> minicbor::Encode<C> for Timestamp {
    fn encode<W: minicbor::encode::Write>(
        &self,
        e: &mut minicbor::Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        e.i64(self.as_millis())?.ok()
    }
}

impl<'b, C> minicbor::Decode<'b, C> for Timestamp {
    fn decode(d: &mut minicbor::Decoder<'b>, _: &mut C) -> Result<Self, minicbor::decode::Error> {
        let at = d.position();
        let millis = d.i64()?;
        Timestamp::try_from_millis(millis).map_err(|e| minicbor::decode::Error::custom(e).at(at))
    }
}
