//! The saved form of a running script.
//!
//! Small, versioned, and independent of how this release compiles: functions, suspension points and
//! variables are identified by source position, unfinished operands by the order of evaluation.
//! Only reachable values are saved. Field order and tags are a storage format, which golden files
//! test.

mod decode;
mod encode;
mod heap;
mod layout;
mod object;
mod promise;

pub use layout::{FORMAT, reads_format};
