//! Why an evaluation ended without a value.

use super::super::syntax::Span;
use crate::value::{InvalidPattern, Kind, NumberError, Value};

/// The kinds of failures, each with a stable code and a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dataweave) enum FaultCode {
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
    pub(in crate::dataweave) fn code(self) -> &'static str {
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

/// A failure, and where it happened once that is known.
#[derive(Debug, Clone)]
pub(in crate::dataweave) struct Fault {
    pub(in crate::dataweave) code: FaultCode,
    pub(in crate::dataweave) message: String,
    pub(in crate::dataweave) span: Option<Span>,
    pub(in crate::dataweave) help: Option<&'static str>,
}

pub(in crate::dataweave) type Result<T = Value> = std::result::Result<T, Box<Fault>>;

impl Fault {
    pub(in crate::dataweave) fn new(code: FaultCode, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { code, message: message.into(), span: None, help: None })
    }

    pub(in crate::dataweave) fn type_error(message: impl Into<String>) -> Box<Self> {
        Self::new(FaultCode::Type, message)
    }

    pub(in crate::dataweave) fn invalid(message: impl Into<String>) -> Box<Self> {
        Self::new(FaultCode::InvalidValue, message)
    }

    pub(in crate::dataweave) fn limit(message: impl Into<String>) -> Box<Self> {
        Self::new(FaultCode::Limit, message)
    }

    /// `value` cannot become a `target`.
    pub(in crate::dataweave) fn coercion(value: &Value, target: &str) -> Box<Self> {
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

    pub(in crate::dataweave) fn expected(expected: Kind, found: &Value) -> Box<Self> {
        let message = format!("expected {}, found {}", expected.name(), found.kind().name());
        let mut fault = Self::type_error(message);
        if found.is_null() {
            fault.help = Some("a missing value is null: give a fallback with `default`");
        }
        fault
    }

    /// Fills in the place, if none is known yet.
    pub(in crate::dataweave) fn at(mut self: Box<Self>, span: Span) -> Box<Self> {
        if self.span.is_none() {
            self.span = Some(span);
        }
        self
    }
}

impl From<NumberError> for Box<Fault> {
    fn from(error: NumberError) -> Self {
        let code = match error {
            NumberError::TooManyDigits => FaultCode::Limit,
            _ => FaultCode::Arithmetic,
        };
        Fault::new(code, error.to_string())
    }
}

impl From<InvalidPattern> for Box<Fault> {
    fn from(error: InvalidPattern) -> Self {
        Fault::invalid(error.to_string())
    }
}
