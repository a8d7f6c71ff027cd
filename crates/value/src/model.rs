//! The value itself.

use std::sync::Arc;

use jiff::Zoned;
use jiff::civil;
use jiff::tz::TimeZone;

use super::temporal::{OffsetTime, Period};
use super::{Array, Foreign, Key, Kind, Namespace, Number, Object, Pattern, Text};

/// A value of an expression language.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// The absent value.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    Text(Text),
    /// A list.
    Array(Arc<Array>),
    /// Consecutive whole numbers.
    Range(Range),
    /// Keys with values.
    Object(Arc<Object>),
    /// A key of an object.
    Key(Key),
    /// A day.
    Date(civil::Date),
    /// A time of day.
    LocalTime(civil::Time),
    /// A time of day with an offset.
    Time(OffsetTime),
    /// A day and time.
    LocalDateTime(civil::DateTime),
    /// A day and time in a zone.
    DateTime(Arc<Zoned>),
    /// A zone.
    TimeZone(TimeZone),
    /// A period.
    Period(Period),
    /// A regular expression.
    Regex(Arc<Pattern>),
    /// Bytes.
    Binary(Arc<[u8]>),
    /// A resource identifier.
    Uri(Text),
    /// A namespace.
    Namespace(Arc<Namespace>),
    /// A value of one language, such as a function.
    Foreign(Foreign),
    /// A value with metadata, such as the format it is written in.
    Annotated(Arc<Annotated>),
}

/// A value with metadata.
#[derive(Debug, Clone)]
pub struct Annotated {
    /// The value; never annotated itself.
    pub value: Value,
    /// The metadata.
    pub metadata: Object,
}

/// Whole numbers from the first to the last, upwards or downwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first number.
    pub from: i64,
    /// The last number, included.
    pub to: i64,
}

impl Range {
    /// How many numbers there are; never zero.
    pub fn len(self) -> u64 {
        self.from.abs_diff(self.to).saturating_add(1)
    }

    /// Always false: a range contains its ends.
    pub fn is_empty(self) -> bool {
        false
    }

    /// The number at a position.
    pub fn get(self, index: u64) -> Option<i64> {
        if index >= self.len() {
            return None;
        }
        if self.from <= self.to {
            self.from.checked_add_unsigned(index)
        } else {
            self.from.checked_sub_unsigned(index)
        }
    }

    /// The numbers in order.
    pub fn iter(self) -> impl Iterator<Item = i64> {
        (0..self.len()).map_while(move |index| self.get(index))
    }
}

impl Value {
    /// An array.
    pub fn array(items: Vec<Value>) -> Self {
        Self::Array(Arc::new(Array::from(items)))
    }

    /// An object.
    pub fn object(object: Object) -> Self {
        Self::Object(Arc::new(object))
    }

    /// A date and time.
    pub fn date_time(zoned: Zoned) -> Self {
        Self::DateTime(Arc::new(zoned))
    }

    /// The value with metadata; without metadata, the bare value.
    pub fn annotated(value: Value, metadata: Object) -> Self {
        let value = value.into_bare();
        if metadata.is_empty() {
            value
        } else {
            Self::Annotated(Arc::new(Annotated { value, metadata }))
        }
    }

    /// The kind of the value.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Boolean,
            Self::Number(_) => Kind::Number,
            Self::Text(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Range(_) => Kind::Range,
            Self::Object(_) => Kind::Object,
            Self::Key(_) => Kind::Key,
            Self::Date(_) => Kind::Date,
            Self::LocalTime(_) => Kind::LocalTime,
            Self::Time(_) => Kind::Time,
            Self::LocalDateTime(_) => Kind::LocalDateTime,
            Self::DateTime(_) => Kind::DateTime,
            Self::TimeZone(_) => Kind::TimeZone,
            Self::Period(_) => Kind::Period,
            Self::Regex(_) => Kind::Regex,
            Self::Binary(_) => Kind::Binary,
            Self::Uri(_) => Kind::Uri,
            Self::Namespace(_) => Kind::Namespace,
            Self::Foreign(foreign) => foreign.kind(),
            Self::Annotated(annotated) => annotated.value.kind(),
        }
    }

    /// The value without its metadata.
    pub fn bare(&self) -> &Self {
        match self {
            Self::Annotated(annotated) => &annotated.value,
            other => other,
        }
    }

    /// The value without its metadata.
    #[must_use]
    pub fn into_bare(self) -> Self {
        match self {
            Self::Annotated(annotated) => annotated.value.clone(),
            other => other,
        }
    }

    /// The metadata, if there is any.
    pub fn metadata(&self) -> Option<&Object> {
        match self {
            Self::Annotated(annotated) => Some(&annotated.metadata),
            _ => None,
        }
    }

    /// Levels of containers. Code that builds values must limit this, because comparing, writing
    /// and freeing a value takes a stack frame per level.
    pub fn depth(&self) -> u32 {
        match self {
            Self::Array(items) => items.depth(),
            Self::Object(object) => object.depth(),
            Self::Key(key) => key.attributes().map_or(0, Object::depth),
            Self::Foreign(foreign) => foreign.depth(),
            Self::Annotated(annotated) => annotated.value.depth().max(annotated.metadata.depth()),
            _ => 0,
        }
    }

    /// Whether it is the absent value.
    pub fn is_null(&self) -> bool {
        matches!(self.bare(), Self::Null)
    }
}

/// Equality without any conversion: numbers by value, instants by instant, objects with their
/// order.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self.bare(), other.bare()) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Text(a), Self::Text(b)) | (Self::Uri(a), Self::Uri(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Range(a), Self::Range(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            (Self::Key(a), Self::Key(b)) => a == b,
            (Self::Date(a), Self::Date(b)) => a == b,
            (Self::LocalTime(a), Self::LocalTime(b)) => a == b,
            (Self::Time(a), Self::Time(b)) => a == b,
            (Self::LocalDateTime(a), Self::LocalDateTime(b)) => a == b,
            (Self::DateTime(a), Self::DateTime(b)) => a == b,
            (Self::TimeZone(a), Self::TimeZone(b)) => a == b,
            (Self::Period(a), Self::Period(b)) => a == b,
            (Self::Regex(a), Self::Regex(b)) => Arc::ptr_eq(a, b),
            (Self::Binary(a), Self::Binary(b)) => a == b,
            (Self::Namespace(a), Self::Namespace(b)) => a == b,
            (Self::Foreign(a), Self::Foreign(b)) => a == b,
            _ => false,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(Number::Int(value))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Self {
        Self::Text(value)
    }
}

impl From<Object> for Value {
    fn from(value: Object) -> Self {
        Self::object(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(value: Vec<Value>) -> Self {
        Self::array(value)
    }
}
