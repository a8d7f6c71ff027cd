//! From a tree to its value.

mod arithmetic;
mod call;
pub(super) mod compare;
mod evaluator;
mod filter;
mod iterate;
mod names;
mod property;
pub(in crate::feel) mod temporal;

pub(in crate::feel) use evaluator::Evaluator;
pub(in crate::feel) use names::LexicalScope;
