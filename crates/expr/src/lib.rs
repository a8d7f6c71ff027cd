//! The languages that definitions are written in, and the value model that expressions share: pure,
//! total, bounded.
//!
//! Nothing here reads a clock, a random number, a file or a socket (I6). Every evaluation counts
//! its operations and its memory, so that the same input has the same result on every machine.

pub mod dataweave;
pub mod feel;
mod line_map;
pub mod script;
pub mod value;

pub use line_map::LineMap;
