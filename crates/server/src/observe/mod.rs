//! Metrics, logs and traces.

mod collector;
mod deadline;
mod engine;
mod request;
mod store;
mod trace;

pub use collector::{TraceExportError, TraceExporter, connect_traces};
pub(crate) use deadline::log_deadlines;
pub(crate) use request::{Metrics, observe_request};
pub(crate) use store::{log_clock, log_damage, log_store};
pub use trace::TRACE_TARGET;
pub(crate) use trace::{call_span, record_status};
