//! Regular expressions of JavaScript: parsed to a tree, compiled to operations, matched by
//! backtracking. Every step is charged, so that no pattern can stall an engine.
//!
//! Without the flag `u` patterns match UTF-16 units, with it characters, as in JavaScript.

mod flags;
mod matcher;
mod parse;
mod program;
mod state;
#[cfg(test)]
mod tests;

pub(super) use flags::{Flags, RegexError};
pub(crate) use matcher::{Input, Match};
pub(crate) use program::Regex;
pub(crate) use state::RegexState;
