//! The rules beyond the syntax that a process must satisfy so that every token can move.

mod checker;
mod compensation;
mod event;
mod flow;
mod gateway;
mod lint;
mod scope;

pub(crate) use checker::check;
pub(crate) use lint::lint;
