//! Metrics, logs and traces.

mod collector;
mod engine;
mod engine_log;
mod request;
mod trace;

pub use collector::{TraceExportError, TraceExporter, connect_traces};
pub(crate) use engine_log::{log_clock, log_damage, log_deadlines, log_store};
pub(crate) use request::{Metrics, observe_request};
pub use trace::TRACE_TARGET;
pub(crate) use trace::{call_span, record_status};
