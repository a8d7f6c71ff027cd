//! Rules that need the whole definition: targets, paths, calls, schedules, time.

mod api;
mod asynchronous;
mod calls;
mod graph;
mod paths;
mod rules;
mod schedules;
mod steps;
mod targets;
mod timing;

pub(crate) use rules::check;
pub(crate) use timing::lint;
