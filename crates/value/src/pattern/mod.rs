//! Regular expressions in Java's dialect, matched within a budget.
//!
//! Patterns without look-around and back-references are matched in linear time; the others are
//! matched by backtracking that counts its steps. Either way the work of a match is taken from
//! the caller's operations, and running out of them is an error, never a hang.

mod backtrack;
mod expression;
mod linear;
mod program;
#[cfg(test)]
mod tests;
mod translate;

pub use expression::{InvalidPattern, MatchTooCostly, Pattern, PatternMatch};
