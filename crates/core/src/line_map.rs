//! Converts byte offsets of a text to lines and columns, for diagnostics of every language.

use crate::Position;

/// Bytes between two checkpoints: the most that a lookup reads.
const CHECKPOINT_INTERVAL: usize = 256;

/// Converts byte offsets to positions. A lookup takes the same time in a text of one long line.
#[derive(Debug, Clone)]
pub struct LineMap {
    /// Offset and position of one character about every [`CHECKPOINT_INTERVAL`] bytes, in order.
    checkpoints: Vec<(usize, Position)>,
}

impl LineMap {
    /// Reads a text once.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut at = Position { line: 1, column: 1 };
        let mut checkpoints = vec![(0, at)];
        let mut next = CHECKPOINT_INTERVAL;
        for (offset, c) in text.char_indices() {
            if offset >= next {
                checkpoints.push((offset, at));
                next = offset + CHECKPOINT_INTERVAL;
            }
            at = advance(at, c);
        }
        Self { checkpoints }
    }

    /// Line and column of a byte offset of the text that the map was made from, both from 1;
    /// columns count characters. An offset after the end of the text has the position of the end.
    #[must_use]
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let number = self.checkpoints.partition_point(|(known, _)| *known <= offset).max(1);
        let start = (0, Position { line: 1, column: 1 });
        let (from, at) = self.checkpoints.get(number - 1).copied().unwrap_or(start);
        let rest = text.get(from..).unwrap_or_default().char_indices();
        rest.take_while(|(index, _)| from + index < offset).fold(at, |at, (_, c)| advance(at, c))
    }
}

/// The position after a character.
fn advance(at: Position, c: char) -> Position {
    match c {
        '\n' => Position { line: at.line.saturating_add(1), column: 1 },
        _ => Position { line: at.line, column: at.column.saturating_add(1) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(text: &str, offset: usize) -> (u32, u32) {
        let Position { line, column } = LineMap::new(text).position(text, offset);
        (line, column)
    }

    #[test]
    fn columns_count_characters() {
        let text = "a\nüb\n";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, 2), (2, 1));
        assert_eq!(position(text, 4), (2, 2));
        assert_eq!(position(text, 99), (3, 1));
        assert_eq!(position("", 5), (1, 1));
    }

    #[test]
    fn positions_behind_checkpoints_are_exact() {
        let text = format!("{}\n{}é{}", "ü".repeat(300), "x".repeat(700), "y".repeat(400));
        for (index, (offset, _)) in text.char_indices().enumerate() {
            let expected = if index <= 300 { (1, index + 1) } else { (2, index - 300) };
            let (line, column) = position(&text, offset);
            assert_eq!((line, column as usize), expected, "at byte {offset}");
        }
    }
}
