//! Problems of a script: message, position, help.

use meantime_core::{Diagnostic, LineMap, Severity};

use super::syntax::Span;

/// The kinds of problems, each with a stable code and a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Code {
    Syntax,
    TooComplex,
    Extension,
    UnknownName,
    UnknownModule,
    UnknownType,
    Arguments,
    Refused,
    Precedence,
}

impl Code {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Syntax => "dataweave_syntax",
            Self::TooComplex => "dataweave_too_complex",
            Self::Extension => "dataweave_extension",
            Self::UnknownName => "dataweave_unknown_name",
            Self::UnknownModule => "dataweave_unknown_module",
            Self::UnknownType => "dataweave_unknown_type",
            Self::Arguments => "dataweave_arguments",
            Self::Refused => "dataweave_refused",
            Self::Precedence => "dataweave_precedence",
        }
    }
}

/// A problem before its offset is converted to line and column.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) code: Code,
    pub(super) severity: Severity,
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Problem {
    pub(super) fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Error, span, message: message.into(), help: None }
    }

    pub(super) fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Warning, span, message: message.into(), help: None }
    }

    #[must_use]
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn into_diagnostic(self, source: &str, lines: &LineMap) -> Diagnostic {
        Diagnostic {
            code: self.code.code().to_owned(),
            severity: self.severity,
            message: self.message,
            start: lines.position(source, self.span.start as usize),
            end: Some(lines.position(source, self.span.end as usize)),
            help: self.help,
        }
    }
}
