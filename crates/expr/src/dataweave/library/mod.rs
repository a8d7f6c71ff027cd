//! The functions that scripts can call.

mod core;
mod native;
mod null;
mod registry;

pub(super) use native::{Args, Native, NativeFn, Overload, Param};
pub(super) use registry::{MODULES, Module, find, find_anywhere, module, refusal};
