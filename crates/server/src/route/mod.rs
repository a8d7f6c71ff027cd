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
mod instance_control;
mod instance_history;
mod instance_list;
mod instance_scope;
mod instance_search;
mod instance_stats;
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

#[cfg(feature = "fuzz")]
pub(crate) use {
    forecast::rewrite_cursor as rewrite_forecast_cursor,
    timer::rewrite_cursor as rewrite_timer_cursor,
};
