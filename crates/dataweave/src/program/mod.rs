//! A compiled script: names are slots, functions are numbered, constants are values.

mod code;
mod node;

pub(crate) use code::Code;
pub(crate) use node::*;
