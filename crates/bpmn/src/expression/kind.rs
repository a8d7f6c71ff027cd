//! What an expression is once it was read.

use std::fmt;
use std::sync::Arc;

use meantime_core::Json;

/// Something that has a value.
#[derive(Debug, Clone)]
pub(crate) enum Expression {
    Literal(Json),
    /// A variable by its name.
    Variable(String),
    /// The business key of the instance.
    OwnKey,
    Feel(Arc<meantime_expr::feel::Program>),
    /// The flow language, with the text it was written as.
    Flow(Arc<meantime_expr::script::Embedded>, Arc<str>),
    /// `DataWeave`, with the text it was written as.
    DataWeave(Arc<meantime_expr::dataweave::Script>, Arc<str>),
    /// Parts that are put together to one text.
    Joined(Vec<Expression>),
    List(Vec<Expression>),
    Map(Vec<(String, Expression)>),
}

impl Expression {
    pub(crate) fn null() -> Self {
        Self::Literal(Json::null())
    }

    pub(crate) fn number(number: u64) -> Self {
        Self::Literal(Json::of(&number).unwrap_or_default())
    }

    pub(crate) fn truth(value: bool) -> Self {
        Self::Literal(Json::of(&value).unwrap_or_default())
    }

    pub(crate) fn variable(name: &str) -> Self {
        Self::Variable(name.trim().to_owned())
    }

    pub(crate) fn own_key() -> Self {
        Self::OwnKey
    }

    /// The text of a literal: without its quotes, as it was written.
    pub(crate) fn literal(&self) -> Option<String> {
        match self {
            Self::Literal(json) if json.as_str().starts_with('"') => json.read().ok(),
            _ => None,
        }
    }
}

/// As it was written, more or less: for messages.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(json) => write!(f, "{json}"),
            Self::Variable(name) => f.write_str(name),
            Self::OwnKey => f.write_str("the business key"),
            Self::Feel(program) => write!(f, "= {}", program.source()),
            Self::Flow(_, source) | Self::DataWeave(_, source) => f.write_str(source),
            Self::Joined(parts) => parts.iter().try_for_each(|part| match part {
                Self::Flow(_, source) => f.write_str(source),
                other => f.write_str(&other.literal().unwrap_or_default()),
            }),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a map"),
        }
    }
}
