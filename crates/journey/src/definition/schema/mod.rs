//! JSON Schema, draft 2020-12: compiled once, checked within a budget.
//!
//! Schemas come from definitions and values from anywhere, so a check must end for every
//! combination. The evaluator is our own because it counts: every step costs an operation, and a
//! check that exceeds its budget fails. Nothing is fetched, and a value that cannot be read or
//! checked never counts as a match.
//!
//! The library is used for two things: whether a document is a valid schema, and `format`.

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
