//! Evaluates a program.
//!
//! The evaluator walks the tree. It counts operations, bytes and levels, and stops with an error
//! when a budget is used up. Time and random seed are inputs.

mod budget;
mod call;
mod compare;
mod dispatch;
mod fault;
mod function;
mod machine;
mod operate;
mod pattern;
mod select;
mod structure;
mod update;

pub(crate) use budget::Budget;
pub(crate) use compare::{compare, compare_same_kind};
pub(crate) use fault::{Fault, FaultCode, Result};
pub(crate) use function::{Function, PartialCall};
pub(crate) use machine::{Eval, EvalInputs};
