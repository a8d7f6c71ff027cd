//! Ranges of the source.

/// Byte offsets of a piece of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// First byte.
    pub(crate) start: u32,
    /// Byte after the last.
    pub(crate) end: u32,
}

impl Span {
    /// From offsets; sources are far smaller than 4 GiB.
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
