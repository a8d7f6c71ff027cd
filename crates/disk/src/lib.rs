//! Records what SQLite writes to its files and when it syncs them, for the power rig (P11).
//!
//! [`start_recording`] puts a layer under every SQLite connection of the process. The layer
//! forwards every call to the system's own files and records each write, truncation and sync below
//! one directory. The power rig decides from this recording alone what a loss of power could leave.
//!
//! Never shipped: only tests and the rigs of the simulator link it.

mod recording;
mod vfs;

pub use recording::{DiskOp, OpKind, Recorder, start_recording};
