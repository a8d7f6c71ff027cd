//! Problems of a definition, found before it runs. Always collected, never first-only.

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Note,
    /// Deploys, but probably not what was meant.
    Warning,
    /// Refused.
    Error,
}

/// A place in the source, both counted from 1. `(1, 1)` stands for the whole document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column in characters.
    pub column: u32,
}

impl Position {
    /// Where a source goes on after its beginning.
    pub fn after(beginning: &str) -> Self {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        let line = beginning.bytes().filter(|byte| *byte == b'\n').count();
        let column = beginning.rsplit('\n').next().unwrap_or_default().chars().count();
        Self { line: count(line), column: count(column) }
    }
}

/// Bytes that are not UTF-8, which every source has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not UTF-8 at line {}, column {}; save it as UTF-8", .at.line, .at.column)]
pub struct NotUtf8 {
    /// The first of them.
    pub at: Position,
}

/// The text of bytes from outside.
pub fn text_of(bytes: &[u8]) -> Result<&str, NotUtf8> {
    std::str::from_utf8(bytes).map_err(|error| {
        let beginning = bytes.get(..error.valid_up_to()).unwrap_or_default();
        NotUtf8 { at: Position::after(&String::from_utf8_lossy(beginning)) }
    })
}

/// One problem: what, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code; each has a page.
    pub code: String,
    /// How bad.
    pub severity: Severity,
    /// Names the offending key or element in its own spelling.
    pub message: String,
    /// Where it starts.
    pub start: Position,
    /// Where it ends, when it is a range.
    pub end: Option<Position>,
    /// What to do instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: impl Into<String>, message: impl Into<String>, start: Position) -> Self {
        let severity = Severity::Error;
        Self { code: code.into(), severity, message: message.into(), start, end: None, help: None }
    }

    /// Adds what to do instead.
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
