//! One file per kind of task.

mod auth;
mod cache;
mod http;
mod result;
mod schedule;
mod worker;

pub(crate) use cache::CACHE_TASK;
