//! The parsed form of an expression.

use std::fmt;
use std::sync::Arc;

use meantime_core::Json;

/// An expression of a model.
#[derive(Debug, Clone)]
pub(crate) enum Expression {
    Literal(Json),
    /// A variable by its name.
    Variable(String),
    /// The business key of the instance.
    BusinessKey,
    Feel(Arc<meantime_feel::Program>),
    /// Code in the flow language, with its source text.
    Flow(Arc<meantime_script::Embedded>, Arc<str>),
    /// `DataWeave` code, with its source text.
    DataWeave(Arc<meantime_dataweave::Script>, Arc<str>),
    /// Parts that are concatenated to one text.
    Concatenated(Vec<Expression>),
    List(Vec<Expression>),
    Map(Vec<(String, Expression)>),
}

impl Expression {
    pub(crate) fn null() -> Self {
        Self::Literal(Json::null())
    }

    pub(crate) fn number(number: u64) -> Self {
        Self::Literal(Json::from(number))
    }

    pub(crate) fn boolean(value: bool) -> Self {
        Self::Literal(Json::from(value))
    }

    pub(crate) fn variable(name: &str) -> Self {
        Self::Variable(name.trim().to_owned())
    }

    pub(crate) fn business_key() -> Self {
        Self::BusinessKey
    }

    /// The variable that it reads, if it only reads a variable or a property of one.
    pub(crate) fn read_variable(&self) -> Option<&str> {
        let text = match self {
            Self::Variable(name) => return Some(name),
            Self::Feel(program) => program.source(),
            Self::Flow(_, source) => source.strip_prefix("${")?.strip_suffix('}')?,
            _ => return None,
        };
        let name = text.trim().split('.').next()?;
        let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let is_word = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
        (begins && text.trim().split('.').all(is_word)).then_some(name)
    }

    /// The content of a literal, without its quotes.
    pub(crate) fn literal(&self) -> Option<String> {
        match self {
            Self::Literal(json) if json.as_str().starts_with('"') => json.read().ok(),
            _ => None,
        }
    }
}

/// Close to the source text; for messages.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(json) => write!(f, "{json}"),
            Self::Variable(name) => f.write_str(name),
            Self::BusinessKey => f.write_str("the business key"),
            Self::Feel(program) => write!(f, "= {}", program.source()),
            Self::Flow(_, source) | Self::DataWeave(_, source) => f.write_str(source),
            Self::Concatenated(parts) => parts.iter().try_for_each(|part| match part {
                Self::Flow(_, source) => f.write_str(source),
                other => f.write_str(&other.literal().unwrap_or_default()),
            }),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a map"),
        }
    }
}
