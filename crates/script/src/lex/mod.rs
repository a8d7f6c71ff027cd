//! Splits a text into tokens. Never fails: invalid characters are reported and skipped.

mod literal;
mod number;
mod scanner;
mod token;

pub(crate) use scanner::tokenize;
pub(crate) use token::{Kind, Number, Token};
