//! The machine that runs compiled scripts.
//!
//! ```text
//!  frames   [ workflow ][ order ][ map ][ arrow ]     calls that have not returned
//!  stack    [ locals, operands ][ locals … ]          one array of values, divided by the frames
//!  heap     lists, objects, functions, cells, awaitables, by number
//! ```
//!
//! A call in a script pushes a frame and never recurses in Rust, so these three are the whole state
//! and can be saved at every point. Every operation is counted; expensive ones count more.

mod arithmetic;
mod builtin;
mod call;
mod class;
mod collect;
mod collection;
mod compare;
mod convert;
mod frame;
mod heap;
mod iterate;
mod json_in;
mod json_out;
mod list;
mod machine;
mod nested;
mod number;
mod object;
mod property;
mod raise;
mod record;
mod regex;
mod run;
mod sort;
mod stringify;
mod text;
mod throw;
mod value;

pub(crate) use collect::ReachableMarks;
pub(crate) use collection::Collection;
pub(crate) use frame::{Frame, IterationFrame, ScriptFrame, SortFrame, StringifyFrame};
pub(crate) use heap::{Closure, FunctionExtra, Heap, NATIVE_FUNCTION};
pub(crate) use json_out::{property_to_display_json, to_display_json};
pub use machine::Machine;
pub(crate) use machine::frame_roots;
pub(crate) use number::{is_exact, print_float};
pub(crate) use raise::{
    Raise, RaiseKind, VmResult, corrupt, range_error, syntax_error, time_error, type_error,
    unsupported,
};
pub(crate) use record::{Extra, Inner, Integrity, IteratorState, Part, Proto, Record};
pub(crate) use regex::{Regex, RegexState};
pub(crate) use run::LoopControl;
pub use run::StopReason;
pub(crate) use text::Text;
pub(crate) use value::{AwaitableRef, CellRef, FunctionRef, ListRef, RecordRef, Reference, Value};
