//! Typed values out of a document, by the one reader.
//!
//! A [`Json`] inside a typed value is cut out of the text as it is: the reader has checked it on
//! its way, and nothing reads it again.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::reader::{Reader, Token};
use super::{InvalidJson, Json};

/// By this name `serde_json` hands over and takes text as it is. Other crates use it too; a test
/// says so if it changes.
pub(super) const RAW: &str = "$serde_json::private::RawValue";

type Result<T = (), E = InvalidJson> = std::result::Result<T, E>;

/// Reads a typed value out of a whole text.
pub(super) fn read<'de, T: serde::Deserialize<'de>>(reader: Reader<'de>) -> Result<T> {
    let mut document = Document { reader, peeked: None };
    let read = T::deserialize(&mut document).and_then(|value| match document.take()? {
        Token::End => Ok(value),
        _ => Err(InvalidJson::custom("a value was not read to its end")),
    });
    // What a visitor refuses has no place of its own: it is the last token.
    read.map_err(|error| error.at(document.reader.text(), document.reader.token_start()))
}

struct Document<'de> {
    reader: Reader<'de>,
    peeked: Option<Token<'de>>,
}

impl<'de> Document<'de> {
    fn peek(&mut self) -> Result<Token<'de>> {
        let token = match self.peeked {
            Some(token) => token,
            None => self.reader.next_token()?,
        };
        self.peeked = Some(token);
        Ok(token)
    }

    fn take(&mut self) -> Result<Token<'de>> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.reader.next_token(),
        }
    }

    fn raw(&mut self) -> Result<&'de str> {
        let first = self.take()?;
        self.reader.rest_of_value(first)
    }
}

fn visit_number<'de, V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value> {
    if let Ok(number) = text.parse::<u64>() {
        return visitor.visit_u64(number);
    }
    if let Ok(number) = text.parse::<i64>() {
        return visitor.visit_i64(number);
    }
    visitor.visit_f64(nearest(text)?)
}

/// The double of a number; one that has none stays a document.
fn nearest(text: &str) -> Result<f64> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| InvalidJson::custom(format_args!("the number {text} is too large")))
}

impl<'de> Deserializer<'de> for &mut Document<'de> {
    type Error = InvalidJson;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.take()? {
            Token::Null => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Number(text) => visit_number(text, visitor),
            Token::Text(text) => match text.decode() {
                std::borrow::Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                std::borrow::Cow::Owned(text) => visitor.visit_string(text),
            },
            Token::List => {
                let value = visitor.visit_seq(Items(self))?;
                match self.take()? {
                    Token::EndOfList => Ok(value),
                    _ => Err(InvalidJson::custom("the list has too many items")),
                }
            }
            Token::Object => {
                let value = visitor.visit_map(Entries(self))?;
                match self.take()? {
                    Token::EndOfObject => Ok(value),
                    _ => Err(InvalidJson::custom("the object has too many members")),
                }
            }
            Token::Key(_) | Token::EndOfList | Token::EndOfObject | Token::End => {
                Err(InvalidJson::custom("expected a value"))
            }
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek()? {
            Token::Number(text) => {
                self.take()?;
                visitor.visit_f64(nearest(text)?)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek()? == Token::Null {
            self.take()?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        if name == RAW {
            return visitor.visit_borrowed_bytes(self.raw()?.as_bytes());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if self.peek()? != Token::Object {
            return visitor.visit_enum(Variant { document: self, has_value: false });
        }
        self.take()?;
        let value = visitor.visit_enum(Variant { document: self, has_value: true })?;
        match self.take()? {
            Token::EndOfObject => Ok(value),
            _ => Err(InvalidJson::custom("expected an object with one member")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.raw()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier
    }
}

struct Items<'a, 'de>(&'a mut Document<'de>);

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = InvalidJson;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.0.peek()? == Token::EndOfList {
            return Ok(None);
        }
        seed.deserialize(&mut *self.0).map(Some)
    }
}

struct Entries<'a, 'de>(&'a mut Document<'de>);

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = InvalidJson;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.0.peek()? == Token::EndOfObject {
            return Ok(None);
        }
        seed.deserialize(Name(self.0)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        seed.deserialize(&mut *self.0)
    }
}

/// The name of a member. Types that are no texts are read out of it, as keys of maps can be.
struct Name<'a, 'de>(&'a mut Document<'de>);

impl<'de> Name<'_, 'de> {
    fn text(self) -> Result<std::borrow::Cow<'de, str>> {
        match self.0.take()? {
            Token::Key(name) | Token::Text(name) => Ok(name.decode()),
            _ => Err(InvalidJson::custom("expected a name")),
        }
    }
}

macro_rules! name_as_number {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            let text = self.text()?;
            if let Ok(number) = text.parse::<u64>() {
                return visitor.visit_u64(number);
            }
            match text.parse::<i64>() {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => visitor.visit_str(&text),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Name<'_, 'de> {
    type Error = InvalidJson;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.text()? {
            std::borrow::Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            std::borrow::Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    name_as_number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(self.text()?.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// A variant: a text, or an object whose one member is named after it.
struct Variant<'a, 'de> {
    document: &'a mut Document<'de>,
    has_value: bool,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = InvalidJson;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let name = if self.has_value {
            seed.deserialize(Name(&mut *self.document))
        } else {
            seed.deserialize(&mut *self.document)
        };
        Ok((name?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = InvalidJson;

    fn unit_variant(self) -> Result {
        if self.has_value {
            return serde::Deserialize::deserialize(self.document);
        }
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        if self.has_value {
            return seed.deserialize(self.document);
        }
        Err(InvalidJson::invalid_type(serde::de::Unexpected::UnitVariant, &"newtype variant"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        if self.has_value {
            return self.document.deserialize_any(visitor);
        }
        Err(InvalidJson::invalid_type(serde::de::Unexpected::UnitVariant, &"tuple variant"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if self.has_value {
            return self.document.deserialize_any(visitor);
        }
        Err(InvalidJson::invalid_type(serde::de::Unexpected::UnitVariant, &"struct variant"))
    }
}

/// Takes a document out of a typed value.
struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    /// From the reader above, which has checked it. No other reader hands out bytes here.
    fn visit_borrowed_bytes<E: serde::de::Error>(self, bytes: &'de [u8]) -> Result<Json, E> {
        let text = std::str::from_utf8(bytes).map_err(E::custom)?;
        Ok(Json(text.into()))
    }

    /// From `serde_json`: the text is the value of the one entry of a map.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let _: Option<RawName> = map.next_key()?;
        let text: String = map.next_value()?;
        Json::parse(&text).map_err(A::Error::custom)
    }
}

/// The name of that entry.
struct RawName;

impl<'de> serde::Deserialize<'de> for RawName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(Self)
    }
}

impl Visitor<'_> for RawName {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("raw value")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self, E> {
        if name == RAW { Ok(self) } else { Err(E::custom("expected a document")) }
    }
}

impl<'de> serde::Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW, JsonVisitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::super::Policy;
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    struct Order {
        name: String,
        amount: Option<u32>,
        rate: f64,
        kind: Kind,
        data: Json,
        parts: Vec<(i8, bool)>,
        by_number: BTreeMap<u32, Json>,
        by_name: BTreeMap<String, Option<Json>>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        #[default]
        Plain,
        Timed(u64),
        Named {
            name: String,
        },
    }

    const TEXTS: [&str; 34] = [
        "{}",
        r#"{"name":"a\né","amount":3,"rate":1.5,"kind":"plain"}"#,
        r#"{"kind":{"timed":7},"amount":null}"#,
        r#"{"kind":{"named":{"name":"x"}}}"#,
        r#"{"kind":{"plain":null}}"#,
        r#"{"kind":"timed"}"#,
        r#"{"kind":{"timed":7,"plain":null}}"#,
        r#"{"kind":{}}"#,
        r#"{"kind":3}"#,
        r#"{"kind":"other"}"#,
        r#"{"data": { "a" : [ 1.10 , -0 ] } ,"name":""}"#,
        r#"{"parts":[[1,true],[-1,false]]}"#,
        r#"{"parts":[[1,true,2]]}"#,
        r#"{"parts":[[1]]}"#,
        r#"{"byNumber":{"1":2,"3":[4]},"byName":{"a":null,"b":1}}"#,
        r#"{"byNumber":{"x":2}}"#,
        r#"{"rate":3}"#,
        r#"{"rate":"3"}"#,
        r#"{"amount":-1}"#,
        r#"{"amount":1.5}"#,
        r#"{"amount":"1"}"#,
        r#"{"amount":4294967296}"#,
        r#"{"name":1}"#,
        r#"{"name":null}"#,
        r#"{"nme":1}"#,
        r#"{"name":"a","name":"b"}"#,
        "[]",
        "1",
        "{",
        r#"{"name":"a"} 1"#,
        r#"{"name":"a",}"#,
        r#"{"data":[1,]}"#,
        r#"{"data":tru}"#,
        r#"{"data":{"a":1,"a":2}}"#,
    ];

    #[test]
    fn typed_values_are_read_as_elsewhere() {
        for text in TEXTS {
            let (here, there) =
                (read::<Order>(Reader::new(text, Policy::Unchanged)), serde_json::from_str(text));
            match (here, there) {
                (Ok(here), Ok::<Order, _>(there)) => assert_eq!(here, there, "{text}"),
                (Err(_), Err(_)) => {}
                (here, there) => panic!("{text}: {here:?} and {there:?}"),
            }
        }
    }

    #[test]
    fn documents_inside_typed_values_are_cut_out_as_they_are() {
        let text = r#"{"data": { "a" : [ 1.10 , -0 ] } ,"name":""}"#;
        let order: Order = read(Reader::new(text, Policy::Unchanged)).unwrap();
        assert_eq!(order.data.as_str(), r#"{ "a" : [ 1.10 , -0 ] }"#);
        assert_eq!(serde_json::to_string(&order.data).unwrap(), order.data.as_str());
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        let error = |text| read::<Order>(Reader::new(text, Policy::Unchanged)).unwrap_err();
        let shape = error("{\"amount\":\n \"x\"}");
        assert_eq!(
            shape.to_string(),
            "invalid type: string \"x\", expected u32 at line 2 column 2"
        );
        let twice = error(r#"{"data":{"a":1,"a":2}}"#);
        assert_eq!(twice.code(), "unsupported_json");
        let broken = error(r#"{"data":[1,]}"#);
        assert_eq!(
            broken.to_string(),
            "not valid JSON: there is a comma after the last item at line 1 column 12"
        );
    }
}
