//! Problems of a source: codes and positions.

use meantime_core::{Diagnostic, Position, Severity};

/// The most problems that are reported; a file with more is wrong as a whole.
const MAX_DIAGNOSTICS: usize = 200;

/// What can be wrong with a source. Every code has a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Not well-formed, or with a document type declaration.
    NotXml,
    /// Too many bytes, nodes or levels.
    TooLarge,
    /// XML, but not BPMN 2.0.
    NotBpmn,
    /// No process of the file is executable.
    NoExecutableProcess,
    /// An element that is not executed here.
    UnsupportedElement,
    /// An attribute, or a value of one, that is not executed here.
    UnsupportedAttribute,
    /// Something required is missing.
    Missing,
    /// Two elements with the same id.
    DuplicateId,
    /// A reference to a missing element, or to one of the wrong kind.
    UnknownReference,
    /// A timer without exactly one time, or with a malformed one (B1).
    BadTimer,
    /// A cycle at an event that fires only once (B3).
    CycleNotHere,
    /// An expression that cannot be parsed.
    BadExpression,
    /// A task without a task type.
    NoTaskType,
    /// An element where the standard does not allow it.
    Misplaced,
    /// A script in a language that is not supported.
    ScriptFormat,
    /// A task that is bound to a Java class or bean.
    Java,
    /// An execution or task listener.
    Listener,
    /// An attribute with an invalid value.
    BadValue,
    /// A gateway that can never continue, or whose flows contradict each other.
    Gateway,
    /// A link without its other end.
    Link,
    /// A compensation without a handler, or a handler in the wrong context.
    Compensation,
    /// A process or sub-process that cannot start.
    Start,
    /// Accepted, and without effect.
    Ignored,
    /// A date that has passed.
    PastDate,
}

impl Code {
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::NotXml => "B001",
            Self::TooLarge => "B002",
            Self::NotBpmn => "B003",
            Self::NoExecutableProcess => "no_executable_process",
            Self::UnsupportedElement => "B004",
            Self::UnsupportedAttribute => "B005",
            Self::Missing => "B006",
            Self::DuplicateId => "B007",
            Self::UnknownReference => "B008",
            Self::BadTimer => "B009",
            Self::CycleNotHere => "B010",
            Self::BadExpression => "B011",
            Self::NoTaskType => "B012",
            Self::Misplaced => "B013",
            Self::ScriptFormat => "B014",
            Self::Java => "B015",
            Self::Listener => "B016",
            Self::BadValue => "B017",
            Self::Gateway => "B018",
            Self::Link => "B019",
            Self::Compensation => "B020",
            Self::Start => "B021",
            Self::Ignored => "B022",
            Self::PastDate => "B023",
        }
    }
}

/// All problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    list: Vec<Diagnostic>,
    code_bytes: usize,
}

/// Bytes of all expressions and scripts of one file. Their compiled form takes a multiple of that.
const MAX_CODE_BYTES: usize = 2 << 20;

impl Problems {
    /// Counts the bytes of an expression or script; false, with one error, when the total is too
    /// large.
    pub(crate) fn count_code_bytes(&mut self, bytes: usize, at: Position) -> bool {
        let before = self.code_bytes;
        self.code_bytes = before.saturating_add(bytes);
        let fits = self.code_bytes <= MAX_CODE_BYTES;
        if !fits && before <= MAX_CODE_BYTES {
            let message = format!("expressions and scripts have more than {MAX_CODE_BYTES} bytes");
            self.error(Code::TooLarge, at, message);
        }
        fits
    }

    pub(crate) fn error(&mut self, code: Code, at: Position, message: impl Into<String>) {
        self.push(code, Severity::Error, at, message.into(), None);
    }

    pub(crate) fn error_with_help(
        &mut self,
        code: Code,
        at: Position,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, Severity::Error, at, message.into(), Some(help.into()));
    }

    pub(crate) fn warn(
        &mut self,
        code: Code,
        at: Position,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, Severity::Warning, at, message.into(), Some(help.into()));
    }

    pub(crate) fn note(&mut self, code: Code, at: Position, message: impl Into<String>) {
        self.push(code, Severity::Note, at, message.into(), None);
    }

    fn push(
        &mut self,
        code: Code,
        severity: Severity,
        start: Position,
        message: String,
        help: Option<String>,
    ) {
        if self.list.len() < MAX_DIAGNOSTICS {
            let code = code.code().to_owned();
            self.list.push(Diagnostic { code, severity, message, start, end: None, help });
        }
    }

    pub(crate) fn errors(&self) -> usize {
        self.list.iter().filter(|it| it.severity == Severity::Error).count()
    }

    /// All problems in the order of the text.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|it| it.start);
        self.list
    }
}
