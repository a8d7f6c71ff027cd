//! Problems of a script: stable codes, and the list of reported problems.

use meantime_core::{Diagnostic, Severity};

use super::span::{SourceMap, Span};

/// The most problems that are reported.
const MAX_DIAGNOSTICS: usize = 200;

/// The kinds of problems, each with a stable code and a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A token at a position where another is required.
    Syntax,
    /// A string, template, comment or bracket has no end.
    Unterminated,
    /// An invalid character, number or escape.
    Literal,
    /// Too deeply nested, or too long.
    TooComplex,
    /// A JavaScript construct that the language does not have.
    Refused,
    /// `async` in any form.
    Async,
    /// `await` in code that cannot be suspended.
    AwaitNotAllowed,
    /// A regular expression.
    Regex,
    /// A name without a declaration.
    UndefinedName,
    /// An assignment to something that cannot change.
    Constant,
    /// A name declared twice in one scope.
    Duplicate,
    /// A use before the declaration.
    UsedBeforeDeclaration,
    /// A new name that looks like a misspelt one.
    SimilarName,
    /// A variable that is never read.
    Unused,
    /// An invalid `break`, `continue`, `return` or label.
    JumpNotAllowed,
    /// Code that can never run.
    Unreachable,
    /// A loop that never ends and never waits.
    Endless,
    /// `await` on something that is never awaitable.
    NeverAwaitable,
    /// A library function that does not exist.
    UnknownMember,
    /// A library function called with too many or too few arguments.
    Arity,
    /// A literal argument that its function will reject.
    Argument,
    /// A script function called with too many or too few arguments.
    ScriptArity,
    /// A method that a value certainly does not have.
    UnknownMethod,
    /// A method called with too many or too few arguments.
    MethodArity,
    /// A file that is neither a bare script nor a list of workflows.
    Form,
}

impl Code {
    /// The stable code.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Syntax => "F001",
            Self::Unterminated => "F002",
            Self::Literal => "F003",
            Self::TooComplex => "F004",
            Self::Refused => "F010",
            Self::Async => "F011",
            Self::AwaitNotAllowed => "F012",
            Self::Regex => "F013",
            Self::UndefinedName => "F020",
            Self::Constant => "F021",
            Self::Duplicate => "F022",
            Self::UsedBeforeDeclaration => "F023",
            Self::SimilarName => "F024",
            Self::Unused => "F025",
            Self::JumpNotAllowed => "F030",
            Self::Unreachable => "F031",
            Self::Endless => "F032",
            Self::NeverAwaitable => "F033",
            Self::UnknownMember => "F040",
            Self::Arity => "F041",
            Self::Argument => "F042",
            Self::ScriptArity => "F043",
            Self::UnknownMethod => "F044",
            Self::MethodArity => "F045",
            Self::Form => "F050",
        }
    }

    /// Whether a script with this problem still deploys.
    fn severity(self) -> Severity {
        match self {
            Self::SimilarName
            | Self::Unused
            | Self::Unreachable
            | Self::Endless
            | Self::NeverAwaitable
            | Self::ScriptArity
            | Self::MethodArity => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

/// Problems in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    list: Vec<(Code, Span, String, Option<String>)>,
}

impl Problems {
    pub(crate) fn add(&mut self, code: Code, at: Span, message: impl Into<String>) {
        self.push(code, at, message.into(), None);
    }

    pub(crate) fn add_with_help(
        &mut self,
        code: Code,
        at: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, at, message.into(), Some(help.into()));
    }

    fn push(&mut self, code: Code, at: Span, message: String, help: Option<String>) {
        // At most one problem of a kind per position: others are consequences of the first.
        let known = |it: &(Code, Span, String, Option<String>)| it.0 == code && it.1 == at;
        if !self.is_full() && !self.list.iter().any(known) {
            self.list.push((code, at, message, help));
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// Removes those of an attempt that was undone.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.list.truncate(count);
    }

    /// Whether further problems would be dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= MAX_DIAGNOSTICS
    }

    /// Whether there is an error, so that the script cannot run.
    pub(crate) fn has_errors(&self) -> bool {
        self.list.iter().any(|(code, ..)| code.severity() == Severity::Error)
    }

    /// The problems with lines and columns, in source order.
    pub(crate) fn diagnostics(mut self, map: &SourceMap) -> Vec<Diagnostic> {
        self.list.sort_by_key(|(_, at, ..)| *at);
        let diagnostic = |(code, at, message, help): (Code, Span, String, Option<String>)| {
            let end = (at.end > at.start).then(|| map.position(at.end));
            let (severity, start) = (code.severity(), map.position(at.start));
            Diagnostic { code: code.code().to_owned(), severity, message, start, end, help }
        };
        self.list.into_iter().map(diagnostic).collect()
    }
}
