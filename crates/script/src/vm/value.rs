//! Values: two words each. Lists, objects, functions and awaitables are in the heap.

use super::text::Text;
use crate::library::{Builtin, Kind};

/// A reference into one of the heap's arenas.
pub(crate) trait Reference: Copy + Ord {
    fn index(self) -> usize;
    fn at(index: u32) -> Self;
}

macro_rules! references {
    ($($name:ident)*) => {
        $(
            /// An index of its arena.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
            pub(crate) struct $name(pub(crate) u32);

            impl Reference for $name {
                fn index(self) -> usize {
                    self.0 as usize
                }

                fn at(index: u32) -> Self {
                    Self(index)
                }
            }
        )*
    };
}

references! { ListRef RecordRef FunctionRef CellRef AwaitableRef }

/// Any value of a script.
#[derive(Debug, Clone, Default)]
pub(crate) enum Value {
    #[default]
    Undefined,
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Text),
    /// A JSON number that is exact neither as an integer nor as a double: kept as text.
    Verbatim(Text),
    List(ListRef),
    Record(RecordRef),
    Function(FunctionRef),
    Builtin(Builtin),
    Awaitable(AwaitableRef),
    /// A variable shared with an inner function. Never visible to a script.
    Cell(CellRef),
    /// A getter and a setter, as a list of both, in place of the value of a property. Never
    /// visible to a script.
    Accessor(ListRef),
}

impl Value {
    pub(crate) fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(Text::new(text))
    }

    pub(crate) const fn is_nullish(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    pub(crate) fn is_truthy(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0 && !value.is_nan(),
            Self::Text(text) => text.bytes() > 0,
            _ => true,
        }
    }

    /// The result of `typeof`.
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Undefined | Self::Cell(_) | Self::Accessor(_) => "undefined",
            Self::Bool(_) => "boolean",
            Self::Int(_) | Self::Float(_) | Self::Verbatim(_) => "number",
            Self::Text(_) => "string",
            Self::Function(_) | Self::Builtin(_) => "function",
            Self::Null | Self::List(_) | Self::Record(_) | Self::Awaitable(_) => "object",
        }
    }

    /// The name of its kind in messages.
    pub(crate) const fn kind_name(&self) -> &'static str {
        match self {
            Self::Undefined | Self::Cell(_) | Self::Accessor(_) => "undefined",
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Verbatim(_) => "a number that is too long to compute with",
            Self::Text(_) => "a string",
            Self::Function(_) | Self::Builtin(_) => "a function",
            Self::List(_) => "a list",
            Self::Record(_) => "an object",
            Self::Awaitable(_) => "an awaitable",
        }
    }

    /// Its kind for method lookup.
    pub(crate) const fn kind(&self) -> Option<Kind> {
        match self {
            Self::Bool(_) => Some(Kind::Bool),
            Self::Int(_) | Self::Float(_) | Self::Verbatim(_) => Some(Kind::Number),
            Self::Text(_) => Some(Kind::Text),
            Self::Function(_) | Self::Builtin(_) => Some(Kind::Function),
            Self::List(_) => Some(Kind::List),
            Self::Record(_) => Some(Kind::Record),
            Self::Undefined
            | Self::Null
            | Self::Awaitable(_)
            | Self::Cell(_)
            | Self::Accessor(_) => None,
        }
    }

    /// The integer, even if it is stored as a double.
    #[expect(clippy::cast_possible_truncation, reason = "the fraction and range are checked")]
    pub(crate) fn as_int(&self) -> Option<i64> {
        const EXACT_INTEGER_LIMIT: f64 = 9_007_199_254_740_992.0;
        match self {
            Self::Int(value) => Some(*value),
            Self::Float(value) if value.fract() == 0.0 && value.abs() <= EXACT_INTEGER_LIMIT => {
                Some(*value as i64)
            }
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Self {
        Self::Text(value)
    }
}
