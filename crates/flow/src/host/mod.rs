//! The host of a turn: calls of the library become effects.

mod child;
mod options;
mod signal;
mod task;
mod time;
mod turn;

pub(crate) use options::RetryOptions;
pub(crate) use time::UnparsedTime;
pub(crate) use turn::{TurnHost, position_text};
