//! JSON in and out of the value model, by the reader and the writer of the core.

mod plain;
mod read;
mod write;

pub use meantime_core::json::InvalidJson;
pub use plain::as_document;
pub use read::{read, read_document};
pub use write::{Layout, WriteError, write, write_document};
