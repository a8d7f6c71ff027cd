//! The functions that scripts can call.

#![expect(clippy::unnecessary_wraps, reason = "library functions have one shape; some cannot fail")]

mod arrays;
mod binaries;
mod coercions;
mod core;
mod crypto;
mod dates;
mod diff;
mod dtd;
mod literal;
mod math;
mod md2;
mod native;
mod null;
mod numbers;
mod objects;
mod path;
mod periods;
mod registry;
mod runtime;
mod strings;
mod timer;
mod tree;
mod types;
mod url;
mod values;

pub(crate) use native::{Args, Native, NativeFn, Overload, Param};
pub(crate) use registry::{MODULES, Module, find, find_anywhere, module, refusal};
