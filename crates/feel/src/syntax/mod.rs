//! Parses text to a syntax tree.

mod ast;
mod grammar;
mod lex;
mod names;
mod parser;
mod primary;

pub(super) use ast::{Arguments, Arithmetic, Comparison, Expr, Iteration, UnaryTest};
pub(super) use parser::parse;
