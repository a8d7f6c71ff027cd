//! Compiles the syntax tree to code for the machine.
//!
//! Code is specific to this release. The saved state of a running script refers to the source
//! instead: functions, suspension points and variables by byte offset, and unfinished operands in
//! the order of evaluation. Another release may compile differently and still load it.

mod assign;
mod builder;
mod call;
mod class;
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
pub(crate) use op::{MethodKind, Op};
pub(crate) use program::{CaptureFrom, Code, Handler, HandlerKind, SuspensionPoint};
pub use program::{Program, Workflow};
