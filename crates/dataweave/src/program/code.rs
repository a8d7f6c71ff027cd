//! The whole of a compiled script.

use std::sync::Arc;

use meantime_core::LineMap;
use meantime_value::Text;

use super::super::types::TypeTable;
use super::{FunctionSet, Lambda, Node};

/// A compiled script, to be evaluated any number of times.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) source: Arc<str>,
    pub(crate) lines: LineMap,
    /// Names of the inputs, which are the first globals.
    pub(crate) inputs: Vec<Text>,
    /// Variables of the header in order, which are the globals after the inputs.
    pub(crate) variables: Vec<Node>,
    pub(crate) sets: Vec<FunctionSet>,
    pub(crate) lambdas: Vec<Lambda>,
    pub(crate) types: TypeTable,
    pub(crate) body: Node,
    /// Whether names below a field `headers` match in any case.
    pub(crate) headers_in_any_case: bool,
}
