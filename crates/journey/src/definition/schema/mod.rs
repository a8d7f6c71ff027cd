//! JSON Schema, draft 2020-12: compiled once, checked within a budget.
//!
//! Schemas are part of definitions, and values come from anywhere, so a check must end whatever
//! both are. The evaluator is our own because it counts: every step is an operation of the budget,
//! and a check that needs more of them than there are fails. Nothing is fetched, and a value that
//! cannot be read or checked never counts as one that matches.
//!
//! The library knows two things here: whether a document is a schema at all, and `format`.

mod check;
mod compile;
mod equal;
mod evaluate;
mod format;
mod keyword;
mod message;
mod refer;
#[cfg(test)]
mod tests;

pub(crate) use check::{Mismatch, Schema};
