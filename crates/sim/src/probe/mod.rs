//! The probe: a small test notation with the hardest cases of the real notations.
//!
//! One operation per line; a blocking operation resumes where it stopped. It tests the contract and
//! is the language of kernel scenarios: races whose losers are cancelled, steps with a schema,
//! effects that answer with a conflict, errors that are raised through parents, synchronous
//! compensation, fan-out by yielding, events that panic among good ones.

mod interpreter;
mod notation;
mod program;
mod saved;

pub use notation::Probe;
