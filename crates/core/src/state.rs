//! The state of a notation between turns: bytes plus a format number, opaque to the kernel.

use std::sync::Arc;

/// Positions and data of one instance, never a copy of its definition.
///
/// Positions are stable ids of elements of the source. Every released `format` has golden files, so
/// that a newer release can always read the states of an older one.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct State {
    /// The layout of the bytes, defined by the notation.
    pub format: u16,
    /// The saved bytes.
    pub bytes: Arc<[u8]>,
}

impl State {
    /// A state of the given format.
    pub fn new(format: u16, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { format, bytes: bytes.into() }
    }
}
