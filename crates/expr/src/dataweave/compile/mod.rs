//! From syntax tree to program: names become positions, types become values.
//!
//! Every function has a frame. The frame of an inner function begins with the positions of the outer
//! one as they were when the inner function was made: captured values. So a name has the same
//! position wherever it is seen, and making a function copies the positions that exist at that moment.

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
