//! Parses tokens to a syntax tree: recursive descent, binding powers for operators, and recovery at
//! the next statement, so that all problems are found at once.

mod class;
mod expression;
mod function;
mod module;
mod parser;
mod pattern;
mod postfix;
mod primary;
mod refused;
mod simple;
mod statement;
#[cfg(test)]
mod tests;
mod types;
mod typescript;

pub(crate) use parser::{Language, parse};
