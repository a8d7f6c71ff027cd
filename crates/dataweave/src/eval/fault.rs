//! Failures of an evaluation.

use std::ops::{Deref, DerefMut};

use meantime_value::{InvalidPattern, Kind, MatchTooCostly, NumberError, Value};

use super::super::syntax::Span;

/// The kinds of failures, each with a stable code and a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultCode {
    Type,
    Coercion,
    Arithmetic,
    InvalidValue,
    NoCase,
    Missing,
    Failed,
    Limit,
}

impl FaultCode {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Type => "dataweave_type",
            Self::Coercion => "dataweave_coercion",
            Self::Arithmetic => "dataweave_arithmetic",
            Self::InvalidValue => "dataweave_invalid_value",
            Self::NoCase => "dataweave_no_case",
            Self::Missing => "dataweave_missing",
            Self::Failed => "dataweave_failed",
            Self::Limit => "dataweave_limit",
        }
    }
}

/// A failure. It is boxed to keep `Result` small, because most results are values.
#[derive(Debug, Clone)]
pub(crate) struct Fault(Box<FaultDetail>);

/// What failed, and its position once it is known.
#[derive(Debug, Clone)]
pub(crate) struct FaultDetail {
    pub(crate) code: FaultCode,
    pub(crate) message: String,
    pub(crate) span: Option<Span>,
    pub(crate) help: Option<&'static str>,
}

pub(crate) type Result<T = Value> = std::result::Result<T, Fault>;

impl Fault {
    pub(crate) fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self(Box::new(FaultDetail { code, message: message.into(), span: None, help: None }))
    }

    pub(crate) fn type_error(message: impl Into<String>) -> Self {
        Self::new(FaultCode::Type, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(FaultCode::InvalidValue, message)
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self::new(FaultCode::Limit, message)
    }

    /// `value` cannot be converted to `target`.
    pub(crate) fn coercion(value: &Value, target: &str) -> Self {
        let from = value.kind().name();
        let shown = match value.bare() {
            Value::Text(text) if text.chars().count() <= 60 => format!(" (\"{text}\")"),
            Value::Number(number) => format!(" ({number})"),
            Value::Bool(value) => format!(" ({value})"),
            _ => String::new(),
        };
        let message = format!("cannot coerce {from}{shown} to {target}");
        let mut fault = Self::new(FaultCode::Coercion, message);
        if value.is_null() {
            fault.help = Some("give a fallback before converting: `(x default …) as …`");
        }
        fault
    }

    pub(crate) fn expected(expected: Kind, found: &Value) -> Self {
        let message = format!("expected {}, found {}", expected.name(), found.kind().name());
        let mut fault = Self::type_error(message);
        if found.is_null() {
            fault.help = Some("a missing value is null: give a fallback with `default`");
        }
        fault
    }

    #[must_use]
    pub(crate) fn with_help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    /// Sets the position if there is none yet.
    pub(crate) fn at(mut self, span: Span) -> Self {
        if self.span.is_none() {
            self.span = Some(span);
        }
        self
    }
}

impl Deref for Fault {
    type Target = FaultDetail;

    fn deref(&self) -> &FaultDetail {
        &self.0
    }
}

impl DerefMut for Fault {
    fn deref_mut(&mut self) -> &mut FaultDetail {
        &mut self.0
    }
}

impl From<NumberError> for Fault {
    fn from(error: NumberError) -> Self {
        let code = match error {
            NumberError::TooManyDigits => FaultCode::Limit,
            _ => FaultCode::Arithmetic,
        };
        Fault::new(code, error.to_string())
    }
}

impl From<MatchTooCostly> for Fault {
    fn from(error: MatchTooCostly) -> Self {
        Fault::limit(error.to_string())
    }
}

impl From<InvalidPattern> for Fault {
    fn from(error: InvalidPattern) -> Self {
        Fault::invalid(error.to_string())
    }
}
