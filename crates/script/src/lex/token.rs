//! Tokens and their values.

use std::sync::Arc;

use crate::span::Span;

/// The value of a number literal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

/// The kinds of tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A name or a keyword; the parser decides which.
    Word(Arc<str>),
    Number(Number),
    Text(Arc<str>),
    /// A piece of a template up to `${` or the closing back-tick.
    Template {
        text: Arc<str>,
        /// As written, for tagged templates.
        raw: Arc<str>,
        first: bool,
        last: bool,
    },
    Regex {
        source: Arc<str>,
        flags: Arc<str>,
    },
    Sign(&'static str),
    End,
}

/// One token.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// Whether a line ends between the previous token and this one.
    pub(crate) after_newline: bool,
}
