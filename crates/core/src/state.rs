//! What a notation remembers between turns: bytes plus a format number, opaque to the kernel.

use std::sync::Arc;

/// Saved positions and data of one instance, never a copy of its definition.
///
/// Positions are stable node ids of the source. Every released `format` keeps golden files, so a
/// newer release can always read what an older one saved.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct State {
    /// Which layout of this notation the bytes have.
    pub format: u16,
    /// The saved form itself.
    pub bytes: Arc<[u8]>,
}

impl State {
    /// A state of the given format.
    pub fn new(format: u16, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { format, bytes: bytes.into() }
    }
}
