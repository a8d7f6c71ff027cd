//! Tokens and what they carry.

use std::sync::Arc;

use crate::span::Span;

/// A number as written in a script.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A name or a keyword; which of them, the parser decides.
    Word(Arc<str>),
    Number(Number),
    Text(Arc<str>),
    /// A piece of a template up to `${` or the closing back-tick.
    Template {
        text: Arc<str>,
        first: bool,
        last: bool,
    },
    Regex,
    Sign(&'static str),
    End,
}

/// One token.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// Whether a line ends between the token before and this one.
    pub(crate) after_newline: bool,
}
