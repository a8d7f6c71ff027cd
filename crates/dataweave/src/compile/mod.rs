//! From syntax tree to program: names become slots, types become values.
//!
//! Every function has a frame. The frame of an inner function begins with the slots of the outer
//! one as they were when the inner function was made: captured values. So a name has the same
//! slot wherever it is seen, and making a function copies the slots that exist at that moment.

mod call;
mod compiler;
mod declare;
mod expression;
mod lint;
mod pattern;
mod scope;
mod structure;
mod suggest;
mod types;

pub(crate) use compiler::{Compiled, compile};
