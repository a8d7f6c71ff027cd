//! A compiled script: names are slots, functions are numbered, constants are values.

mod node;

pub(super) use node::*;

use std::sync::Arc;

use super::syntax::Lines;
use super::types::TypeTable;
use crate::value::Text;

/// A compiled script, to be evaluated any number of times.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) source: Arc<str>,
    pub(super) lines: Lines,
    /// Names of the inputs; they are the first globals.
    pub(super) inputs: Vec<Text>,
    /// Variables of the header, in order; they are the globals after the inputs.
    pub(super) variables: Vec<Node>,
    pub(super) sets: Vec<FunctionSet>,
    pub(super) lambdas: Vec<Lambda>,
    pub(super) types: TypeTable,
    pub(super) body: Node,
}
