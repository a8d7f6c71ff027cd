//! What SQLite writes to its files and when it syncs them, recorded for the power rig (P11).
//!
//! [`record`] puts a layer under every SQLite connection of the process. It hands everything on to
//! the system's own files and notes each write, truncation and sync below one directory. What a
//! loss of power could leave behind is decided elsewhere, from the recording alone.
//!
//! Never shipped: only tests and the rigs of the simulator link it.

mod recording;
mod vfs;

pub use recording::{DiskOp, OpKind, Recorder, start_recording};
