//! Evaluates the syntax tree.

mod arithmetic;
mod call;
pub(super) mod compare;
mod evaluator;
mod filter;
mod iterate;
mod names;
mod property;
pub(crate) mod temporal;

pub(crate) use evaluator::Evaluator;
pub(crate) use names::LexicalScope;
