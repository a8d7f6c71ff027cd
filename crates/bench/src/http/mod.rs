//! `bench http`, `bench round-trip`, `bench journey`, `bench bpmn`, `bench overload`, `bench
//! isolation`: a server in its own process, measured over sockets.
//!
//! ```text
//!   this process                                 the server: `meantime serve`, full durability
//!   callers (keep-alive connections) ──────────► POST /instances
//!   workers (a few of the connections) ────────► POST /tasks/claim, /tasks/complete, in batches
//! ```
//!
//! Both share the machine, so the callers do as little as possible: requests are prepared as bytes,
//! and answers are parsed only as far as needed.

mod bpmn;
mod caller;
mod cleanup;
mod connection;
mod flow;
mod isolation;
mod journey;
mod measure;
mod overload;
mod parked;
mod poison;
mod pressure;
mod readiness_prober;
mod round_trip;
mod server;
mod sources;
mod steady_load;
mod worker;

pub(super) use bpmn::run as bpmn;
pub(super) use flow::run as flow;
pub(super) use isolation::{IsolationPlan, run as isolation};
pub(super) use journey::run as journey;
pub(super) use overload::run as overload;
pub(super) use poison::Kind as Poison;
pub(super) use round_trip::{MeasuredServer, RoundTripPlan, run as round_trip};
pub(super) use worker::WorkerKind;
