//! One file per state type; the two ends share one.

mod call;
mod choice;
mod end;
mod parallel;
mod step;
mod timer;
mod transform;

pub(crate) use call::{error_of, termination_name};
pub(crate) use step::INVALID_INPUT;
