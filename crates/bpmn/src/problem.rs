//! Problems of a source: their codes, and where they are.

use meantime_core::{Diagnostic, Position, Severity};

/// At most so many problems are reported; a file with more is wrong as a whole.
const MAX_DIAGNOSTICS: usize = 200;

/// What can be wrong with a source. Every code has a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Not well-formed, or with a document type.
    NotXml,
    /// Too many bytes, elements or levels.
    TooLarge,
    /// XML, but no BPMN 2.0.
    NotBpmn,
    /// Nothing in it may be executed.
    NoExecutableProcess,
    /// An element that is not executed here.
    UnsupportedElement,
    /// An attribute, or a value of one, that is not executed here.
    UnsupportedAttribute,
    /// Something required is not there.
    Missing,
    /// Two elements of one id.
    DuplicateId,
    /// A reference to nothing, or to the wrong kind of thing.
    UnknownReference,
    /// A timer without exactly one time, or with a malformed one (B1).
    BadTimer,
    /// A cycle where nothing can repeat (B3).
    CycleNotHere,
    /// An expression that cannot be read.
    BadExpression,
    /// Work without a type.
    NoTaskType,
    /// An element where the standard does not allow it.
    Misplaced,
    /// A script in a language that does not run here.
    ScriptFormat,
    /// Work that only Java classes can do.
    Java,
    /// An execution or task listener.
    Listener,
    /// An attribute whose value makes no sense.
    BadValue,
    /// A gateway that cannot work.
    Gateway,
    /// A link without its other end.
    Link,
    /// A compensation without its handler, or a handler out of place.
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

/// Everything that was found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    list: Vec<Diagnostic>,
    code_bytes: usize,
}

/// Bytes of all expressions and scripts of one file. What is made of them takes many times that.
const MAX_CODE_BYTES: usize = 2 << 20;

impl Problems {
    /// Counts an expression or script; false, and told once, when all together are too large.
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

    /// All of them in the order of the text.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|it| it.start);
        self.list
    }
}
