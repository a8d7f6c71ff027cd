//! The probe: a small notation made of the hardest cases of the real ones.
//!
//! One operation per line, blocking ones resume where they stopped. It exists to try the contract
//! out and to write kernel scenarios in: races whose losers are cancelled, steps with a schema,
//! effects that answer with a conflict, errors that travel up through children, synchronous
//! compensation, fan-out by yielding, poison among good events.

mod interpreter;
mod notation;
mod program;
mod saved;

pub use notation::Probe;
