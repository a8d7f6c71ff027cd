//! Errors of a FEEL text, and of an evaluation.

use std::fmt;

use meantime_value::MatchTooCostly;

/// A text that is not FEEL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Byte offset into the text.
    pub offset: usize,
    message: String,
    help: Option<String>,
}

impl SyntaxError {
    pub(super) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), help: None }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// How to fix it.
    pub fn help(&self) -> Option<String> {
        self.help.clone()
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at character {}", self.message, self.offset + 1)
    }
}

/// Why an evaluation was stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// More operations than allowed.
    #[error("the expression takes too long")]
    TooLong,
    /// More memory than allowed.
    #[error("the expression needs too much memory")]
    TooLarge,
    /// Too deep recursion, or too deeply nested lists.
    #[error("the expression is nested too deeply")]
    TooDeep,
    /// `assert` was called with a condition that does not hold.
    #[error("{0}")]
    AssertionFailed(String),
}

impl From<MatchTooCostly> for EvaluationError {
    fn from(_: MatchTooCostly) -> Self {
        Self::TooLong
    }
}

impl EvaluationError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "expression_too_long",
            Self::TooLarge => "expression_too_large",
            Self::TooDeep => "expression_too_deep",
            Self::AssertionFailed(_) => "assertion_failed",
        }
    }
}
