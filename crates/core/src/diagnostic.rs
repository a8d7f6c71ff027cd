//! Problems of a definition, found before it runs. All problems are collected, not only the first.

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information.
    Note,
    /// It deploys, but is probably not what the author meant.
    Warning,
    /// It is refused.
    Error,
}

/// A position in the source; line and column count from 1. `(1, 1)` stands for the whole document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column in characters.
    pub column: u32,
}

impl Position {
    /// The position after the given text.
    pub fn after(beginning: &str) -> Self {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        let line = beginning.bytes().filter(|byte| *byte == b'\n').count();
        let column = beginning.rsplit('\n').next().unwrap_or_default().chars().count();
        Self { line: count(line), column: count(column) }
    }
}

/// The error for a source that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not UTF-8 at line {}, column {}; save it as UTF-8", .at.line, .at.column)]
pub struct NotUtf8 {
    /// The position of the first invalid byte.
    pub at: Position,
}

/// The text of bytes from outside.
pub fn text_of(bytes: &[u8]) -> Result<&str, NotUtf8> {
    std::str::from_utf8(bytes).map_err(|error| {
        let beginning = bytes.get(..error.valid_up_to()).unwrap_or_default();
        NotUtf8 { at: Position::after(&String::from_utf8_lossy(beginning)) }
    })
}

/// One problem: its message, its position, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code; each has a page.
    pub code: String,
    /// The severity.
    pub severity: Severity,
    /// Names the offending key or element in its own spelling.
    pub message: String,
    /// The start position.
    pub start: Position,
    /// The end position, if it is a range.
    pub end: Option<Position>,
    /// How to fix it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a position.
    pub fn error(code: impl Into<String>, message: impl Into<String>, start: Position) -> Self {
        let severity = Severity::Error;
        Self { code: code.into(), severity, message: message.into(), start, end: None, help: None }
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_is_told_with_its_place() {
        assert_eq!(text_of("Prüfung".as_bytes()), Ok("Prüfung"));
        let found = text_of(b"a\nbc Pr\xfcfung").map_err(|error| error.to_string());
        assert_eq!(found, Err("not UTF-8 at line 2, column 6; save it as UTF-8".to_owned()));
    }
}
