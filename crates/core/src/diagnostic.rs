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
