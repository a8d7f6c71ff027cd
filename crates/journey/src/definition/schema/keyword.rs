//! The parts of a compiled schema.

use std::collections::BTreeMap;

use meantime_value::{Number, Pattern, Value};

use super::format::Format;

/// The number of a schema inside the compiled whole.
pub(super) type NodeId = usize;

/// One schema: its assertions in the order in which they are evaluated.
#[derive(Default)]
pub(super) struct Node {
    pub(super) keywords: Vec<Keyword>,
    /// Whether a keyword needs to know which items or properties other keywords have evaluated.
    pub(super) needs_marks: bool,
}

/// One assertion, or several that depend on each other.
pub(super) enum Keyword {
    /// `false`: no value matches.
    Never,
    Type(Vec<Type>),
    Const(Value),
    Enum(Vec<Value>),
    Minimum {
        limit: Number,
        exclusive: bool,
    },
    Maximum {
        limit: Number,
        exclusive: bool,
    },
    MultipleOf(Number),
    MinLength(u64),
    MaxLength(u64),
    Pattern(Box<Pattern>),
    Format(Format),
    MinItems(u64),
    MaxItems(u64),
    UniqueItems,
    /// The first items.
    PrefixItems(Vec<NodeId>),
    /// The items after the prefix.
    Items {
        skip: usize,
        schema: NodeId,
    },
    Contains {
        schema: NodeId,
        min: u64,
        max: Option<u64>,
    },
    MinProperties(u64),
    MaxProperties(u64),
    Required(Vec<String>),
    DependentRequired(Vec<(String, Vec<String>)>),
    DependentSchemas(Vec<(String, NodeId)>),
    /// `properties`, `patternProperties` and `additionalProperties`.
    Properties(Properties),
    PropertyNames(NodeId),
    Ref(NodeId),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    /// With the source of the schema, for the message.
    Not(NodeId, String),
    If {
        test: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    UnevaluatedItems(NodeId),
    UnevaluatedProperties(NodeId),
}

/// Which schemas the properties of an object must match.
#[derive(Default)]
pub(super) struct Properties {
    pub(super) named: BTreeMap<String, NodeId>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    /// For properties that neither names nor patterns match.
    pub(super) others: AdditionalProperties,
}

/// `additionalProperties`.
#[derive(Default, Clone, Copy)]
pub(super) enum AdditionalProperties {
    /// Not given.
    #[default]
    Any,
    /// `false`: no other property is allowed.
    None,
    Match(NodeId),
}

/// A type of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Number,
    Integer,
    String,
    Array,
    Object,
}

impl Type {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    pub(super) fn holds(self, value: &Value) -> bool {
        match (self, value.bare()) {
            (Self::Null, Value::Null)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::String, Value::Text(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Integer, Value::Number(number)) => number.is_integer(),
            _ => false,
        }
    }
}

impl Keyword {
    /// The order of evaluation: cheap and simple assertions first, keywords that depend on the
    /// others last.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Never => 0,
            Self::Type(_) => 1,
            Self::Const(_) | Self::Enum(_) => 2,
            Self::Minimum { .. } | Self::Maximum { .. } | Self::MultipleOf(_) => 3,
            Self::MinLength(_) | Self::MaxLength(_) | Self::Format(_) | Self::Pattern(_) => 4,
            Self::MinItems(_)
            | Self::MaxItems(_)
            | Self::UniqueItems
            | Self::MinProperties(_)
            | Self::MaxProperties(_) => 5,
            Self::Required(_) | Self::DependentRequired(_) => 6,
            Self::PrefixItems(_)
            | Self::Items { .. }
            | Self::Contains { .. }
            | Self::Properties(_)
            | Self::PropertyNames(_) => 7,
            Self::DependentSchemas(_)
            | Self::Ref(_)
            | Self::AllOf(_)
            | Self::AnyOf(_)
            | Self::OneOf(_)
            | Self::Not(..)
            | Self::If { .. } => 8,
            Self::UnevaluatedItems(_) | Self::UnevaluatedProperties(_) => 9,
        }
    }

    /// The subschemas that apply to the same value as this keyword.
    pub(super) fn same_value_schemas(&self) -> Vec<NodeId> {
        match self {
            Self::Ref(id) | Self::Not(id, _) => vec![*id],
            Self::AllOf(ids) | Self::AnyOf(ids) | Self::OneOf(ids) => ids.clone(),
            Self::If { test, then, otherwise } => {
                [Some(*test), *then, *otherwise].into_iter().flatten().collect()
            }
            Self::DependentSchemas(pairs) => pairs.iter().map(|(_, id)| *id).collect(),
            _ => Vec::new(),
        }
    }
}
