//! Frames: calls that have not returned.

use super::value::{FunctionRef, ListRef, Value};
use crate::library::Method;
use crate::promise::CoroutineFrame;

/// One call that has not returned.
#[derive(Debug, Clone)]
pub(crate) enum Frame {
    Script(ScriptFrame),
    Iteration(IterationFrame),
    Sort(SortFrame),
    Stringify(StringifyFrame),
    /// An async call, below its function.
    Coroutine(CoroutineFrame),
    /// An operation that called a function and continues with its result. Never saved.
    Native,
}

/// A function of the script.
#[derive(Debug, Clone)]
pub(crate) struct ScriptFrame {
    /// Its index in the program.
    pub(crate) function: u32,
    /// The next operation; for a frame that waits for a call, the one after the call.
    pub(crate) pc: usize,
    /// The start of its variables on the stack; the called function is directly below.
    pub(crate) base: usize,
    /// The function object, for the variables it shares.
    pub(crate) closure: Option<FunctionRef>,
}

/// A method that calls a function for each element of a list.
#[derive(Debug, Clone)]
pub(crate) struct IterationFrame {
    pub(crate) method: Method,
    pub(crate) list: ListRef,
    pub(crate) callback: Value,
    /// The index of the next element.
    pub(crate) next: usize,
    /// The length of the list at the start.
    pub(crate) length: usize,
    /// The element of the current call.
    pub(crate) current: Value,
    /// The result so far.
    pub(crate) result: Value,
}

/// A bottom-up merge sort that calls a comparison function.
#[derive(Debug, Clone)]
pub(crate) struct SortFrame {
    /// The list to be sorted in place at the end.
    pub(crate) list: ListRef,
    pub(crate) callback: Value,
    /// The sorted runs, and the buffer into which they are merged.
    pub(crate) from: ListRef,
    pub(crate) to: ListRef,
    /// The length of a sorted run.
    pub(crate) width: usize,
    /// The next elements of the left and the right run.
    pub(crate) left: usize,
    pub(crate) right: usize,
    /// The first element of this pair of runs.
    pub(crate) start: usize,
}

/// `JSON.stringify` with functions of the script that replace values.
#[derive(Debug, Clone)]
pub(crate) struct StringifyFrame {
    /// The second argument, if it is a function.
    pub(crate) replacer: Value,
    /// The only property names that are written, as a list; otherwise undefined.
    pub(crate) names: Value,
    /// The indentation of one level, as a text; otherwise undefined.
    pub(crate) indent: Value,
    /// The values being visited, from the outside in, with their copies.
    pub(crate) levels: ListRef,
    /// An object whose property with the empty name is the copy.
    pub(crate) copy: Value,
    /// The name of the property for which a function is being called.
    pub(crate) key: Value,
    /// Whether the function being called is `toJSON`.
    pub(crate) asked_to_json: bool,
}
