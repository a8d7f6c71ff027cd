//! The routes, one file for each resource.

mod api_call;
mod clock;
mod definition;
mod engine;
mod event;
mod forecast;
mod health;
mod incident;
mod instance;
mod instance_history;
mod instance_list;
mod instance_scope;
mod journey;
mod journey_list;
mod message;
mod query_guard;
mod reason;
mod reply;
mod router;
mod schedule;
mod table;
mod task;
mod timer;
mod why;

pub use router::unlisted_paths;
pub(crate) use router::{BASE, api, router};

/// Reads a text as a cursor of timers and of forecasts, and writes what was read.
#[cfg(feature = "fuzz")]
pub(crate) fn rewrite_cursors(text: &str) -> Vec<String> {
    let timer = timer::parse_cursor_key(text).map(|key| timer::cursor_of(&key));
    let forecast = forecast::read_cursor(text).map(forecast::write_cursor);
    timer.into_iter().chain(forecast).collect()
}
