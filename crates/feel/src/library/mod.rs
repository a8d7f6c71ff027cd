//! The functions of FEEL, by family. An invalid call gives null.

mod context;
mod conversion;
mod interval;
mod list;
mod logic;
mod names;
mod number;
mod random;
mod signature;
mod statistics;
mod text;
mod time;

pub(super) use names::{call, function};
pub(super) use signature::{is_instance, parameters};
