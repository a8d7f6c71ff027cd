//! The saved form of a running script, format 1.
//!
//! Small, versioned, and independent of how this release compiles: functions, suspension points
//! and variables are named by their places in the source, unfinished operands by the order in which
//! the language evaluates them. Only what can still be reached is saved. Field order and tags are a
//! storage format: golden files hold them.

mod decode;
mod encode;
mod heap;
mod layout;

pub use layout::FORMAT;
