//! From text to tokens. Never fails: what makes no sense is reported and skipped.

mod literal;
mod number;
mod scanner;
mod token;

pub(crate) use scanner::tokenize;
pub(crate) use token::{Kind, Number, Token};
