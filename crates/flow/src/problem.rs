//! Problems of a file that are not problems of its script.

use meantime_core::{Diagnostic, Position, Severity};

/// The kinds of problems, each with a stable code and its own page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The front matter is not YAML.
    FrontMatter,
    /// A key or value of the front matter is not valid.
    Setting,
    /// The workflow has no usable name.
    Name,
    /// A literal instant has passed.
    PastInstant,
    /// A timer falls due after the deadline.
    AfterDeadline,
}

impl Code {
    /// The stable code.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::FrontMatter => "F051",
            Self::Setting => "F052",
            Self::Name => "F053",
            Self::PastInstant => "F060",
            Self::AfterDeadline => "F061",
        }
    }

    fn severity(self) -> Severity {
        match self {
            Self::PastInstant | Self::AfterDeadline => Severity::Warning,
            _ => Severity::Error,
        }
    }

    pub(crate) fn at(self, start: Position, message: impl Into<String>) -> Diagnostic {
        let severity = self.severity();
        Diagnostic { severity, ..Diagnostic::error(self.code(), message, start) }
    }
}
