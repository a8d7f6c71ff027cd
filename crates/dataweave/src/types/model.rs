//! Types as values.

use std::any::Any;
use std::sync::Arc;

use meantime_value::{Foreign, Kind, Namespace, Object, Opaque, Text, Value};

/// A type, possibly with a name and metadata.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Type {
    /// The name it was declared with, or the name of a built-in type.
    pub(crate) name: Option<Text>,
    pub(crate) shape: Shape,
    pub(crate) metadata: Object,
}

/// The values that a type accepts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Any,
    Nothing,
    Kind(Kind),
    Array(Arc<Type>),
    Object {
        fields: Vec<Field>,
        closed: bool,
    },
    Function {
        params: Vec<Parameter>,
        result: Arc<Type>,
    },
    Union(Vec<Arc<Type>>),
    Intersection(Vec<Arc<Type>>),
    Literal(Value),
    /// A reference to a declared type, by its index in the table.
    Reference(Text, usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) namespace: Option<Namespace>,
    /// None matches any key.
    pub(crate) name: Option<Text>,
    pub(crate) optional: bool,
    pub(crate) repeated: bool,
    pub(crate) attributes: Vec<Field>,
    pub(crate) kind: Arc<Type>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    pub(crate) name: Text,
    pub(crate) kind: Arc<Type>,
    pub(crate) optional: bool,
}

/// The declared types of a script.
pub(crate) type TypeTable = Vec<Arc<Type>>;

impl Type {
    /// A type without name and metadata.
    pub(crate) fn new(shape: Shape) -> Self {
        Self { name: None, shape, metadata: Object::default() }
    }

    pub(crate) fn of_kind(kind: Kind) -> Self {
        Self::new(Shape::Kind(kind))
    }

    /// A built-in type by its name.
    pub(crate) fn built_in(name: &str) -> Option<Self> {
        let kind = |kind| Some(Self::of_kind(kind));
        match name {
            "Any" => Some(Self::new(Shape::Any)),
            "Nothing" => Some(Self::new(Shape::Nothing)),
            "Null" => kind(Kind::Null),
            "Boolean" => kind(Kind::Boolean),
            "Number" => kind(Kind::Number),
            "String" | "CData" => kind(Kind::String),
            "Array" | "Iterator" => kind(Kind::Array),
            "Range" => kind(Kind::Range),
            "Object" | "Dictionary" => kind(Kind::Object),
            "Key" => kind(Kind::Key),
            "Date" => kind(Kind::Date),
            "LocalTime" => kind(Kind::LocalTime),
            "Time" => kind(Kind::Time),
            "LocalDateTime" => kind(Kind::LocalDateTime),
            "DateTime" => kind(Kind::DateTime),
            "TimeZone" => kind(Kind::TimeZone),
            "Period" => kind(Kind::Period),
            "Regex" => kind(Kind::Regex),
            "Binary" => kind(Kind::Binary),
            "Uri" => kind(Kind::Uri),
            "Namespace" => kind(Kind::Namespace),
            "Function" => kind(Kind::Function),
            "Type" => kind(Kind::Type),
            "SimpleType" => Some(Self::union(SIMPLE)),
            "Comparable" => Some(Self::union(COMPARABLE)),
            "StringCoerceable" => Some(Self::union(STRING_COERCEABLE)),
            _ => None,
        }
    }

    fn union(kinds: &[Kind]) -> Self {
        Self::new(Shape::Union(kinds.iter().map(|kind| Arc::new(Self::of_kind(*kind))).collect()))
    }

    /// The type behind references.
    pub(crate) fn resolved<'t>(self: &'t Arc<Self>, table: &'t TypeTable) -> &'t Arc<Self> {
        let mut at = self;
        // A chain of aliases is at most as long as the table; a longer one refers to itself.
        for _ in 0..=table.len() {
            match &at.shape {
                Shape::Reference(_, index) => match table.get(*index) {
                    Some(target) => at = target,
                    None => return at,
                },
                _ => return at,
            }
        }
        at
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Foreign(Foreign::new(self))
    }

    /// The type inside a value.
    pub(crate) fn from_value(value: &Value) -> Option<&Self> {
        match value.bare() {
            Value::Foreign(foreign) => foreign.get::<Self>(),
            _ => None,
        }
    }
}

const COMPARABLE: &[Kind] = &[
    Kind::String,
    Kind::Number,
    Kind::Boolean,
    Kind::DateTime,
    Kind::LocalDateTime,
    Kind::Date,
    Kind::LocalTime,
    Kind::Time,
    Kind::TimeZone,
];

const SIMPLE: &[Kind] = &[
    Kind::String,
    Kind::Boolean,
    Kind::Number,
    Kind::DateTime,
    Kind::LocalDateTime,
    Kind::Date,
    Kind::LocalTime,
    Kind::Time,
    Kind::TimeZone,
    Kind::Period,
];

const STRING_COERCEABLE: &[Kind] = &[
    Kind::String,
    Kind::Boolean,
    Kind::Number,
    Kind::DateTime,
    Kind::LocalDateTime,
    Kind::Date,
    Kind::LocalTime,
    Kind::Time,
    Kind::TimeZone,
    Kind::Period,
    Kind::Key,
    Kind::Binary,
    Kind::Uri,
    Kind::Type,
    Kind::Regex,
    Kind::Namespace,
];

impl Opaque for Type {
    fn kind(&self) -> Kind {
        Kind::Type
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_equal(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| self.shape == other.shape)
    }

    fn depth(&self) -> u32 {
        0
    }
}
