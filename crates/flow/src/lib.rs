//! The notation of flow scripts: a JavaScript-like language whose awaits are durable.
//!
//! The language and its machine are `meantime_script`. This crate reads files with their front
//! matter, converts calls of the library to effects and events to results, and decides how an
//! instance ends. Nothing is replayed: at an `await` the machine is saved, and the next event
//! continues from there.

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
