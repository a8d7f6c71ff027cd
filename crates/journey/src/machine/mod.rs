//! The machine: events in, the next state and effects out.
//!
//! A run is a set of frames, one for each active scope: the root, the branches of a parallel, the
//! subjourney of a call. Every frame is at one state and either waits for one thing or is ready. A
//! turn handles its events one by one; after each it runs ready frames until all of them wait.
//!
//! | file | holds |
//! |---|---|
//! | `run` | the loop, effects, budgets |
//! | `start`, `event` | the first turn; events |
//! | `dispatch` | dispatch from state types to functions only |
//! | `state/*`, `task/*` | one file per state type and task kind |
//! | `data`, `overlay` | contexts, and the writes of branches on top of them |
//! | `evaluate` | evaluation of expressions for a frame |
//! | `outcome` | the end of a frame; the end of the run, compensation |
//! | `cancel` | cancels frames that lost a race |
//! | `transition` | what a state returns: next, wait, end or error |
//! | `saved` | what is remembered between turns |
//! | `inspect` | the view of a run |

mod cancel;
mod data;
mod dispatch;
mod evaluate;
mod event;
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
