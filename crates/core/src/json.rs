//! A JSON document as text: the payloads of callers, workers and notations.
//!
//! The kernel never parses a payload, so payloads are compact text that is cheap to clone, to
//! measure and to store. A notation parses it into the value model of its language. The text is
//! checked once, where it enters: a document that some reader of the engine could not represent
//! unchanged is refused there.

mod de;
mod escape;
mod number;
mod reader;
mod writer;

use std::fmt;
use std::sync::Arc;

use minicbor::decode::{Decoder, Error as DecodeError};
use minicbor::encode::{Encoder, Error as EncodeError, Write};
use serde::ser::SerializeStruct as _;

pub use escape::RawText;
pub use number::{MAX_DIGITS, MAX_PLACES, is_number};
pub use reader::{Policy, Reader, Token};
pub use writer::{TextLayout, Writer};

/// A checked JSON text. `Json::default()` is `null`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json(Arc<str>);

/// The text is not JSON, or is JSON that cannot be kept unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidJson(Box<Invalid>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Invalid {
    kind: InvalidKind,
    reason: String,
    /// Line and column, from 1.
    place: Option<(usize, usize)>,
}

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidKind {
    /// It is not JSON by its grammar.
    NotJson,
    /// It is JSON that cannot be kept unchanged: too deep, with a key twice, with half of a
    /// surrogate pair, or with a number of too many digits.
    Unsupported,
    /// It is JSON of another shape than the type that is read.
    Shape,
}

/// Why a value has no JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteLimit {
    /// The text is longer than allowed.
    #[error("the result is longer than {0} bytes")]
    TooLong(usize),
    /// Nothing could read the text again.
    #[error("the result is nested deeper than {} levels", Json::MAX_DEPTH)]
    TooDeep,
}

impl std::error::Error for InvalidJson {}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.kind {
            InvalidKind::NotJson => "not valid JSON: ",
            InvalidKind::Unsupported => "this JSON cannot be kept unchanged: ",
            InvalidKind::Shape => "",
        })?;
        f.write_str(&self.0.reason)?;
        match self.0.place {
            Some((line, column)) => write!(f, " at line {line} column {column}"),
            None => Ok(()),
        }
    }
}

impl InvalidJson {
    #[cold]
    fn new(kind: InvalidKind, reason: &str) -> Self {
        Self(Box::new(Invalid { kind, reason: reason.to_owned(), place: None }))
    }

    /// With its place, unless it has one.
    fn at(mut self, text: &str, offset: usize) -> Self {
        if self.0.place.is_none() {
            let before = text.get(..offset).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            self.0.place = Some((line, before.len() - start + 1));
        }
        self
    }

    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self.0.kind {
            InvalidKind::Unsupported => "unsupported_json",
            InvalidKind::NotJson | InvalidKind::Shape => "invalid_json",
        }
    }

    /// What is wrong.
    pub fn kind(&self) -> InvalidKind {
        self.0.kind
    }

    /// Why, without the place.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Line and column, from 1.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.0.place
    }
}

/// What a type says that is read out of a document.
impl serde::de::Error for InvalidJson {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new(InvalidKind::Shape, &reason.to_string())
    }
}

impl Json {
    /// The largest nesting of any document in the engine. Documents from outside have a lower limit
    /// (see `http.max_json_depth`), so that runs can put them into documents of their own.
    pub const MAX_DEPTH: usize = 256;

    /// Checks the text and keeps it unchanged: numbers are never rewritten. A document that the
    /// engine could not return unchanged is refused.
    pub fn parse(text: &str) -> Result<Self, InvalidJson> {
        Self::parse_within(text, Self::MAX_DEPTH)
    }

    /// The same with fewer levels.
    pub fn parse_within(text: &str, max_depth: usize) -> Result<Self, InvalidJson> {
        reader::check(text, max_depth).map(|text| Self(Arc::from(text)))
    }

    /// A text that the writer has written: it is not read again.
    fn written(text: String) -> Self {
        debug_assert!(Self::parse(&text).is_ok_and(|it| it.0.len() == text.len()), "{text}");
        Self(text.into())
    }

    /// Turns any serialisable value into a document.
    pub fn of(value: &impl serde::Serialize) -> Result<Self, InvalidJson> {
        match serde_json::to_string(value) {
            Ok(text) => Ok(Self(text.into())),
            Err(error) => Err(serde::de::Error::custom(error)),
        }
    }

    /// A string as a document.
    pub fn text(text: &str) -> Self {
        let mut out = String::with_capacity(text.len() + 2);
        escape::write_text(&mut out, text);
        Self(out.into())
    }

    /// A list of documents.
    pub fn list<'a>(items: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut out = String::from("[");
        for item in items {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(item.as_str());
        }
        out.push(']');
        Self(out.into())
    }

    /// An object of documents by name, in this order. The names must be different.
    pub fn object<'a>(entries: impl IntoIterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut out = String::from("{");
        for (name, value) in entries {
            if out.len() > 1 {
                out.push(',');
            }
            escape::write_text(&mut out, name);
            out.push(':');
            out.push_str(value.as_str());
        }
        out.push('}');
        Self(out.into())
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
        de::read(Reader::of_document(self))
    }
}

/// Reads a typed value out of a text from outside, by the rules for every document.
pub fn from_str<'t, T: serde::Deserialize<'t>>(
    text: &'t str,
    max_depth: usize,
) -> Result<T, InvalidJson> {
    de::read(Reader::new(text, Policy::Unchanged).with_max_depth(max_depth))
}

impl Default for Json {
    fn default() -> Self {
        Self::null()
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self(Arc::from(if value { "true" } else { "false" }))
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self(number.to_string().into())
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

/// `serde_json` takes the text as it is, and reads nothing again.
impl serde::Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(de::RAW, 1)?;
        raw.serialize_field(de::RAW, &*self.0)?;
        raw.end()
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

    #[test]
    fn blanks_around_a_document_are_not_part_of_it() {
        assert_eq!(
            Json::parse(" \n{ \"a\" : [ 1 , true ] }\t").unwrap().as_str(),
            "{ \"a\" : [ 1 , true ] }"
        );
    }

    /// The grammar is that of `serde_json`, which this check replaces.
    #[test]
    fn what_is_json_is_decided_as_elsewhere() {
        let texts = [
            "",
            " ",
            "nul",
            "nulll",
            "tru",
            "1",
            "-1",
            "-",
            "01",
            "-01",
            "1.",
            ".5",
            "1.5",
            "1e",
            "1e+",
            "1e5",
            "1E-5",
            "1.5e+3",
            "+1",
            "0x1",
            "\"",
            "\"a",
            "\"a\"",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u00e9\"",
            "\"\\ud83d\\ude00\"",
            "\"\u{1}\"",
            "\"\u{7f}é😀\"",
            "[",
            "]",
            "[]",
            "[1",
            "[1]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[[]]",
            "{",
            "}",
            "{}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1}",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":{\"b\":[{}]}}",
            "1 2",
            "[1]]",
            "{}{}",
            "NaN",
            "Infinity",
            "'a'",
            "[1//x\n]",
        ];
        for text in texts {
            let elsewhere = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(Json::parse(text).is_ok(), elsewhere, "{text}");
        }
    }

    /// No reader changes a document that was accepted.
    #[test]
    fn what_cannot_be_kept_unchanged_is_refused_by_name() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let many = |last: &str| {
            let keys: Vec<String> = (0..40).map(|key| format!("\"k{key}\":{key}")).collect();
            format!("{{{},\"{last}\":0}}", keys.join(","))
        };
        assert!(Json::parse(&nested(Json::MAX_DEPTH)).is_ok());
        assert!(Json::parse(&many("other")).is_ok());
        assert!(Json::parse("[{\"a\":{\"a\":1}},{\"a\":2}]").is_ok());
        assert!(Json::parse("[1e5000,1e-5000,0.1e5000,123456789012345678901234567890.5]").is_ok());
        let cases = [
            (nested(Json::MAX_DEPTH + 1), "deeper"),
            (nested(100_000), "deeper"),
            ("{\"a\":1,\"a\":1}".to_owned(), "twice"),
            ("{\"a\":1,\"\\u0061\":2}".to_owned(), "twice"),
            ("[{\"b\":{},\"é\":1,\"\\u00e9\":2}]".to_owned(), "twice"),
            (many("k7"), "twice"),
            ("\"\\ud800\"".to_owned(), "surrogate"),
            ("\"\\udc00\\ud800\"".to_owned(), "surrogate"),
            ("{\"\\ud83dx\":1}".to_owned(), "surrogate"),
            ("[1e5001]".to_owned(), "digits"),
            ("1e-5001".to_owned(), "digits"),
            ("1e99999999999999999999".to_owned(), "digits"),
            ("1".repeat(MAX_DIGITS + 1), "digits"),
        ];
        for (text, reason) in cases {
            let error = Json::parse(&text).unwrap_err();
            assert_eq!(error.code(), "unsupported_json", "{error}");
            assert!(error.to_string().contains(reason), "{error}");
            // Also as part of a request body.
            assert!(serde_json::from_str::<Json>(&text).is_err());
        }
    }

    #[test]
    fn documents_are_put_together_as_they_are() {
        let (number, text) = (Json::parse("1.10").unwrap(), Json::text("a\"\u{1}é"));
        assert_eq!(text.as_str(), "\"a\\\"\\u0001é\"");
        assert_eq!(Json::list([&number, &text]).as_str(), "[1.10,\"a\\\"\\u0001é\"]");
        assert_eq!(
            Json::object([("b", &number), ("a\n", &number)]).as_str(),
            "{\"b\":1.10,\"a\\n\":1.10}"
        );
        assert_eq!(Json::from(&serde_json::json!({"a": [1, null]})).as_str(), "{\"a\":[1,null]}");
    }
}
