//! JSON in and out of the value model.

mod read;
mod write;

pub use read::{JsonError, read};
pub use write::{Layout, WriteError, write};
