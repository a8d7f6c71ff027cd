//! One module per command.

mod bench;
mod eval;
mod list;

pub(crate) use list::Command;
