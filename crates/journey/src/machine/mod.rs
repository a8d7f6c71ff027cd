//! The machine: events in, the next state and effects out.
//!
//! A run is a set of frames, one for each scope that is being run: the root, the branches of a
//! parallel, the subjourney of a call. Every frame stands at one state and waits there for one
//! thing, or is ready to go on. A turn takes its events one by one and after each lets ready
//! frames run until all of them wait.
//!
//! | file | holds |
//! |---|---|
//! | `run` | the loop, effects, budgets |
//! | `start`, `event` | the first turn; events |
//! | `dispatch` | which state type is which function, nothing else |
//! | `state/*`, `task/*` | one file per state type and task kind |
//! | `data`, `overlay` | contexts, and what branches write over them |
//! | `evaluate` | what expressions see |
//! | `finish`, `outcome` | the end of a frame; the end of the run, compensation |
//! | `cancel` | cancels frames that lost a race |
//! | `transition` | what a state returns: next, wait, end or error |
//! | `saved` | what is remembered between turns |
//! | `inspect` | what people see |

mod cancel;
mod data;
mod dispatch;
mod evaluate;
mod event;
mod finish;
mod inspect;
mod outcome;
mod overlay;
mod run;
mod saved;
mod start;
mod state;
mod task;
mod transition;

#[cfg(test)]
mod tests;

pub(crate) use evaluate::platform;
pub(crate) use inspect::{RunView, context_at, view};
pub(crate) use outcome::CANCELLED_OUTCOME;
pub(crate) use run::Run;
pub(crate) use saved::SavedRun;
pub(crate) use start::GUARD_ELEMENT_PREFIX;
