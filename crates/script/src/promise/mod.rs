//! Promises and the functions that wait for them.
//!
//! What a promise causes when it settles is a *reaction*. A reaction whose promise has settled is a
//! *job*; jobs run in the order in which they came up, after the code that caused them, as in
//! ECMAScript. A call of an async function that waits is a *coroutine*: its part of the frames and
//! of the stack, owned by the reaction that will continue it.

mod coroutine;
mod gather;
mod job;
mod method;
mod reaction;
mod resolve;

pub(crate) use coroutine::{CallEnd, Coroutine, CoroutineFrame};
pub(crate) use gather::{GATHER_MODES, Gather};
pub(crate) use method::is_promise_method;
pub(crate) use reaction::{Job, Promise, Reaction, Settled};
pub(crate) use resolve::NativeFunction;
