//! Metrics, logs and traces.

mod collector;
mod engine;
mod engine_log;
mod log_filter;
mod request;
mod trace;

pub use collector::{TraceExportError, TraceExporter, connect_traces};
pub(crate) use engine_log::{log_clock, log_damage, log_deadlines, log_store};
pub use log_filter::log_filter;
pub(crate) use request::{Metrics, observe_request};
pub(crate) use trace::{call_span, record_status};
