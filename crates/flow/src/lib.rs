//! The notation of flow scripts: a JavaScript-like language whose every `await` may last a year.
//!
//! The language and its machine are `meantime_script`. This crate reads files with their
//! front matter, turns calls of the library into effects and events into results, and decides how
//! an instance ends. Nothing is replayed: at an `await` the machine is saved, and the next event
//! goes on from there.

mod definition;
mod end;
mod event;
mod front_matter;
mod host;
mod http;
mod lint;
mod notation;
mod problem;
mod turn;
mod yaml;

pub use http::{HTTP_TASK, HttpCall};
pub use notation::{Flow, NOTATION};
