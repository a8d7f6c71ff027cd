//! BPMN 2.0: processes as modelers draw them, executed.
//!
//! [`Bpmn`] is the notation. Reading never stops at the first problem and refuses by name what it
//! does not execute (I9). The machine is a pure state machine of tokens and scopes: it gets events
//! and `now` and returns its next state and what it wants done (I6). Comments cite the rules B1 to
//! B10 about timers.

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
