//! From text to a tree.

mod ast;
mod grammar;
mod lex;
mod names;
mod parser;
mod primary;

pub(super) use ast::{Arguments, Arithmetic, Comparison, Expr, Iteration, Test};
pub(super) use parser::parse;
