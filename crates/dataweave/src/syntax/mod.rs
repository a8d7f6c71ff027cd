//! Parses a text to a syntax tree.
//!
//! The meaning of a character depends on its context: `/` divides or opens a regular expression,
//! `|` joins types or opens a date, `{` opens an object, a type, a schema or a block. So there is
//! no token stream; the parser reads characters through a [`Cursor`] and asks for what is possible
//! next.

mod ast;
mod cursor;
mod directive;
mod expression;
mod literal;
mod member;
mod parser;
mod pattern;
mod primary;
mod selector;
mod span;
mod type_expression;

pub(crate) use ast::*;
pub(crate) use cursor::is_reserved;
pub(crate) use parser::{ParsedScript, parse};
pub(crate) use span::Span;
