//! FEEL, the expression language of DMN, as far as processes use it.
//!
//! Values are those of [`meantime_value`]: contexts are objects, days-and-time durations are exact
//! periods, years-and-months durations are calendar periods. As in the standard, an invalid
//! operation gives null and never an error; the first reason for a null is kept, so that an
//! incident can show it. The only source of time is the [`Environment`].
//!
//! Nothing here reads a clock, a random number, a file or a socket (I6). Every evaluation counts
//! its operations and its memory, so that the same input has the same result on every machine.

mod eval;
mod foreign;
mod library;
mod problem;
mod program;
mod syntax;
mod written;

pub use problem::{EvaluationError, SyntaxError};
pub use program::{Environment, Evaluation, Program, compile};
pub use written::to_json;
