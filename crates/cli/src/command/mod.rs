//! One module per command.

mod bench;
mod completions;
mod config;
mod deploy;
mod dev;
mod eval;
mod instance;
mod key;
mod list;
mod search;
mod serve;
mod store;
mod time;
mod validate;

pub(crate) use list::Command;
