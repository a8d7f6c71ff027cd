//! Places in a source: byte offsets while compiling, lines and columns for people.

use std::sync::Arc;

use meantime_core::Position;

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

/// The text of a script with the starts of its lines.
#[derive(Debug, Clone)]
pub struct SourceMap {
    text: Arc<str>,
    lines: Vec<u32>,
}

impl SourceMap {
    /// Finds the lines of a text.
    #[must_use]
    pub fn new(text: Arc<str>) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = after_breaks.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
        let lines = std::iter::once(0).chain(starts).collect();
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
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or_default() as usize;
        let end = (offset as usize).min(self.text.len());
        let before = self.text.as_bytes().get(start..end).unwrap_or_default();
        // Every byte that does not continue a character begins one.
        let column = before.iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1;
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Position { line: number(line), column: number(column) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let map = SourceMap::new("a\nüb\n".into());
        assert_eq!(map.position(0), Position { line: 1, column: 1 });
        assert_eq!(map.position(2), Position { line: 2, column: 1 });
        assert_eq!(map.position(4), Position { line: 2, column: 2 });
        assert_eq!(map.position(99), Position { line: 3, column: 1 });
    }
}
