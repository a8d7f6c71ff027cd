//! One module per command.

mod bench;
mod list;

pub(crate) use list::Command;
