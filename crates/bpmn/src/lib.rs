//! BPMN 2.0: processes as modelers draw them, executed.
//!
//! [`Bpmn`] is the notation. Reading reports all problems at once, and rejects by name what is not
//! executed (I9). The machine is a pure state machine of tokens and scopes: it gets events and
//! `now` and returns its next state and its effects (I6). Comments cite the rules B1 to B10 about
//! timers.

mod check;
mod expression;
mod graph;
mod incident_code;
mod machine;
mod model;
mod notation;
mod problem;
mod read;

pub use notation::{Bpmn, NOTATION};
