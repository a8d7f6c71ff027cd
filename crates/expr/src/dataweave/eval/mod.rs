//! Running a program.
//!
//! The evaluator walks the tree. It counts operations, bytes and levels, and stops with an error
//! when a budget is used up. The time and the random bits are inputs.

mod budget;
mod call;
mod compare;
mod dispatch;
mod fault;
mod function;
mod machine;
mod operate;
mod pattern;
mod random;
mod select;
mod structure;
mod update;

pub(super) use budget::Budget;
pub(super) use compare::{compare, is_similar};
pub(super) use fault::{Fault, FaultCode, Result};
pub(super) use function::{Function, Waiting};
pub(super) use machine::{Eval, Moment};
