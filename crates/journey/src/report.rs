//! Collects problems with their positions.

use meantime_core::{Diagnostic, Position, Severity};

use crate::code::Code;
use crate::yaml::Span;

/// The most problems that are reported; more would not help.
const MAX_DIAGNOSTICS: usize = 200;

/// Bytes of all expressions of one document.
const MAX_EXPRESSION_BYTES: usize = 2 << 20;

/// Problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    diagnostics: Vec<Diagnostic>,
    expression_bytes: usize,
}

impl Report {
    /// Reports an error, which rejects the definition.
    pub(crate) fn error(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Self {
        self.add(Severity::Error, code, span, message.into())
    }

    /// Reports a warning: it deploys, but is probably not what was intended.
    pub(crate) fn warn(&mut self, code: Code, span: Span, message: impl Into<String>) -> &mut Self {
        self.add(Severity::Warning, code, span, message.into())
    }

    /// Adds a help text to the last reported problem.
    pub(crate) fn help(&mut self, help: impl Into<String>) {
        if let Some(last) = self.diagnostics.last_mut() {
            last.help = Some(help.into());
        }
    }

    /// Counts the bytes of an expression; false, with one error, when the total is too large. A
    /// compiled expression takes a multiple of its source.
    pub(crate) fn count_expression_bytes(&mut self, bytes: usize, span: Span) -> bool {
        let before = self.expression_bytes;
        self.expression_bytes = before.saturating_add(bytes);
        let fits = self.expression_bytes <= MAX_EXPRESSION_BYTES;
        if !fits && before <= MAX_EXPRESSION_BYTES {
            let message = format!("the expressions have more than {MAX_EXPRESSION_BYTES} bytes");
            self.error(Code::TooLarge, span, message);
        }
        fits
    }

    /// Adds a problem that another reader found.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Whether there is an error.
    pub(crate) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|it| it.severity == Severity::Error)
    }

    /// Whether the definition itself is invalid. A value that only this deployment lacks (rule 61)
    /// does not count: a stored definition must still load.
    pub(crate) fn refuses_definition(&self) -> bool {
        let refuses =
            |it: &Diagnostic| it.severity == Severity::Error && it.code != Code::Config.code();
        self.diagnostics.iter().any(refuses)
    }

    /// The number of problems so far.
    pub(crate) fn count(&self) -> usize {
        self.diagnostics.len()
    }

    /// The problems in source order; if there are too many, errors are kept first.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        if self.diagnostics.len() > MAX_DIAGNOSTICS {
            self.diagnostics.sort_by_key(|it| (std::cmp::Reverse(it.severity), it.start));
            self.diagnostics.truncate(MAX_DIAGNOSTICS);
        }
        self.diagnostics.sort_by(|one, other| {
            let key = |it: &Diagnostic| (it.start, std::cmp::Reverse(it.severity), it.code.clone());
            key(one).cmp(&key(other))
        });
        self.diagnostics
    }

    fn add(&mut self, severity: Severity, code: Code, span: Span, message: String) -> &mut Self {
        let end = Some(span.end).filter(|end: &Position| *end > span.start);
        let help = code.advice().map(str::to_owned);
        let code = code.code().to_owned();
        self.diagnostics.push(Diagnostic { code, severity, message, start: span.start, end, help });
        self
    }
}
