//! Places in the source.

use meantime_core::Position;

/// Byte offsets of a piece of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// First byte.
    pub(crate) start: u32,
    /// Byte after the last.
    pub(crate) end: u32,
}

impl Span {
    /// From offsets; sources are limited to far below 4 GiB.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        let fit = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: fit(start), end: fit(end) }
    }

    /// From the start of one to the end of the other.
    pub(crate) fn to(self, end: Self) -> Self {
        Self { start: self.start, end: end.end.max(self.start) }
    }

    /// The text of the span.
    pub(crate) fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Where lines start, to turn offsets into lines and columns.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    pub(crate) fn new(source: &str) -> Self {
        let breaks = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = breaks.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
        Self { starts: std::iter::once(0).chain(starts).collect() }
    }

    /// Line and column in characters, both from 1.
    pub(crate) fn position(&self, source: &str, offset: u32) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = source.get(start as usize..offset as usize).unwrap_or_default();
        let fit = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position { line: fit(line), column: fit(before.chars().count() + 1) }
    }
}
