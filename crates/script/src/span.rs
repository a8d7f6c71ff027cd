//! Ranges of a source: byte offsets during compilation, lines and columns in messages.

use std::sync::Arc;

use meantime_core::{LineMap, Position};

/// A range of bytes of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// From the start of this one to the end of another.
    pub(crate) const fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }
}

/// The text of a script with its line starts.
#[derive(Debug, Clone)]
pub struct SourceMap {
    text: Arc<str>,
    lines: LineMap,
}

impl SourceMap {
    /// Computes the line starts of a text.
    #[must_use]
    pub fn new(text: Arc<str>) -> Self {
        let lines = LineMap::new(&text);
        Self { text, lines }
    }

    /// The text itself.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Line and column of a byte offset, both from 1; columns count characters.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        self.lines.position(&self.text, offset as usize)
    }
}
