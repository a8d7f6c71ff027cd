//! One module per command.

mod bench;
mod completions;
mod config;
mod definition;
mod deploy;
mod dev;
mod eval;
mod event;
mod incident;
mod instance;
mod instances;
mod key;
mod list;
mod message;
mod schedule;
mod search;
mod serve;
mod simulate;
mod store;
mod target;
mod task;
mod test;
mod time;
mod timer;
mod validate;

pub(crate) use list::Command;
