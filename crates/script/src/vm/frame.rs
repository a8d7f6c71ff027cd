//! Frames: calls that have not returned.

use super::value::{FunctionRef, ListRef, Value};
use crate::library::Method;

/// One call that has not returned.
#[derive(Debug, Clone)]
pub(crate) enum Frame {
    Script(ScriptFrame),
    Iteration(IterationFrame),
    Sort(SortFrame),
    Stringify(StringifyFrame),
}

/// A function of the script.
#[derive(Debug, Clone)]
pub(crate) struct ScriptFrame {
    /// Its number in the program.
    pub(crate) function: u32,
    /// The next operation; of a frame that waits for a call, the one after the call.
    pub(crate) pc: usize,
    /// Where its variables begin on the stack; right below lies the called function.
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
    /// The element that comes next.
    pub(crate) next: usize,
    /// How many there were when it began.
    pub(crate) length: usize,
    /// The element that the function is called for.
    pub(crate) current: Value,
    /// What it has gathered so far.
    pub(crate) result: Value,
}

/// A merge sort, from the bottom up, that calls a function to compare.
#[derive(Debug, Clone)]
pub(crate) struct SortFrame {
    /// The list to be sorted in place at the end.
    pub(crate) list: ListRef,
    pub(crate) callback: Value,
    /// The elements in runs that are sorted, and the runs being merged from them.
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

/// `JSON.stringify` that asks functions of the script what to write.
#[derive(Debug, Clone)]
pub(crate) struct StringifyFrame {
    /// The second argument, if it is a function.
    pub(crate) replacer: Value,
    /// The only names that are written, as a list; otherwise undefined.
    pub(crate) names: Value,
    /// What stands before a line, as a text; otherwise undefined.
    pub(crate) indent: Value,
    /// The values that are gone through, from the outside in, with their copies.
    pub(crate) levels: ListRef,
    /// An object whose property without a name is the copy.
    pub(crate) copy: Value,
    /// The name of the property that a function is asked about.
    pub(crate) key: Value,
    /// Whether the function that is being called is `toJSON`.
    pub(crate) asked_to_json: bool,
}
