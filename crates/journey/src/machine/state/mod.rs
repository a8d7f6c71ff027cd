//! One file per state type.

mod call;
mod choice;
mod fail;
mod parallel;
mod step;
mod succeed;
mod timer;
mod transform;

pub(crate) use call::{error_of, termination_name};
pub(crate) use step::INVALID_INPUT;
