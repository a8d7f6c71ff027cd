//! Extractor of a query string whose parameters may be given several times, such as
//! `status=running&status=failed`.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, Query as AxumQuery};
use axum::http::request::Parts;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor, value};
use serde::forward_to_deserialize_any;

use super::error_text;
use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// The parameters of the query; a member that is a list takes all values of its parameter.
pub(crate) struct MultiQuery<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for MultiQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        let refused = |text: &str| {
            Problem::new(ProblemCode::InvalidQuery, error_text::describe_query_error(text))
        };
        let pairs = AxumQuery::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let AxumQuery(pairs) = pairs.map_err(|error| refused(&error.body_text()))?;
        read(pairs).map(Self).map_err(|error| refused(&error.to_string()))
    }
}

/// Reads parameters; those of one name together.
fn read<T: DeserializeOwned>(pairs: Vec<(String, String)>) -> Result<T, Error> {
    let mut grouped: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in pairs {
        grouped.entry(name).or_default().push(value);
    }
    let parameters = grouped.into_iter();
    let parameters = parameters.map(|(name, values)| (name.clone(), Parameter { name, values }));
    T::deserialize(MapDeserializer::new(parameters))
}

/// A parameter with its values, of which there is at least one.
struct Parameter {
    name: String,
    values: Vec<String>,
}

impl Parameter {
    /// Reads the only value. An error names the parameter.
    fn single<T>(&self, read: impl FnOnce(&str) -> Result<T, Error>) -> Result<T, Error> {
        match self.values.as_slice() {
            [value] => {
                read(value).map_err(|error| Error::custom(format!("{}: {error}", self.name)))
            }
            _ => Err(Error::custom(format!("duplicate field `{}`", self.name))),
        }
    }
}

impl IntoDeserializer<'_> for Parameter {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Reads a number or a boolean from its text.
macro_rules! parsed {
    ($($name:ident $visit:ident $type:ty),+ $(,)?) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.single(|text| {
                visitor.$visit(text.parse::<$type>().map_err(Error::custom)?)
            })
        })+
    };
}

impl<'de> Deserializer<'de> for Parameter {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.single(|text| visitor.visit_str(text))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self { name, values } = self;
        let single = |value| Self { name: name.clone(), values: vec![value] };
        visitor.visit_seq(SeqDeserializer::new(values.into_iter().map(single)))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.single(|text| {
            let text: StrDeserializer<'_, value::Error> = text.into_deserializer();
            text.deserialize_enum(name, variants, visitor)
        })
    }

    parsed! {
        deserialize_bool visit_bool bool,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Blue,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Filter {
        #[serde(default)]
        colour: Vec<Colour>,
        #[serde(default)]
        limit: Option<usize>,
        #[serde(default)]
        count: bool,
    }

    fn check(pairs: &[(&str, &str)]) -> Result<Filter, String> {
        let pairs = pairs.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned()));
        read(pairs.collect()).map_err(|error| error_text::describe_query_error(&error.to_string()))
    }

    #[test]
    fn a_list_takes_all_values_and_others_one() {
        let colour = vec![Colour::Red, Colour::Blue];
        let given = [("colour", "red"), ("limit", "7"), ("colour", "blue"), ("count", "true")];
        assert_eq!(check(&given), Ok(Filter { colour, limit: Some(7), count: true }));
        assert_eq!(check(&[]), Ok(Filter { colour: Vec::new(), limit: None, count: false }));
        let errors = [
            (vec![("limit", "1"), ("limit", "2")], "the query parameter `limit` is given twice"),
            (vec![("limit", "x")], "`limit`: a whole number is expected"),
            (vec![("colour", "red"), ("colour", "x")], "`colour`: `x` is not one of `red`, `blue`"),
            (vec![("count", "yes")], "`count`: true or false is expected"),
        ];
        for (pairs, error) in errors {
            assert_eq!(check(&pairs), Err(error.to_owned()));
        }
    }
}
