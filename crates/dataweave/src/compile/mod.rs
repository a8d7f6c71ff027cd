//! Compiles a syntax tree to a program: names become slots, types become values.
//!
//! Every function has a frame. The frame of an inner function begins with the slots of the outer
//! function at the time the inner one was created: its captured values. So a name has the same slot
//! in every function that can see it, and creating a function copies the existing slots.

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
