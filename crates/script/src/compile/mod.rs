//! From the syntax tree to code for the machine.
//!
//! Code is an artefact of this release. What is saved of a running script names positions of the
//! source instead: functions, suspension points and variables by byte offset, and unfinished
//! operands in the order in which the language evaluates them. Another release may compile
//! differently and still read it.

mod assign;
mod builder;
mod call;
mod expression;
mod function;
mod loops;
mod op;
mod pattern;
mod program;
mod statement;
mod switch;
mod unwind;

pub(crate) use function::compile;
pub(crate) use op::Op;
pub(crate) use program::{CaptureFrom, Code, Handler, HandlerKind, SuspensionPoint};
pub use program::{Program, Workflow};
