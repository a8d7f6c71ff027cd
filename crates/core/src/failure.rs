//! Errors, as data.

/// An error as users see it: `{code, message, data?, trace?}`.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub struct Failure {
    /// The stable code, chosen by the definition or the worker.
    #[n(0)]
    pub code: String,
    /// One sentence for people.
    #[n(1)]
    pub message: String,
    /// Additional data from the worker.
    #[n(2)]
    pub data: Option<crate::Json>,
    /// Where in a definition it happened: a JSON array of `{function, file, line, column}`,
    /// innermost first. For notations with a call stack.
    #[n(3)]
    pub trace: Option<crate::Json>,
}

impl Failure {
    /// A failure without data.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), data: None, trace: None }
    }
}

/// A business error that a worker throws on purpose (`bpmnError`).
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub struct Thrown {
    /// The error code that a catcher names.
    #[n(0)]
    pub code: String,
    /// Variables for the catcher.
    #[n(1)]
    pub variables: Option<crate::Json>,
}

/// Why an instance failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(index_only)]
pub enum Termination {
    /// The definition ended it as failed.
    #[n(0)]
    Fail,
    /// The deadline was reached (D2).
    #[n(1)]
    Timeout,
    /// The engine could not continue: a type error, an invalid expression.
    #[n(2)]
    RuntimeError,
}

/// A turn that could not be computed. It opens an incident; its events are kept (I10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Stable code.
    pub code: String,
    /// What happened, for the operator who handles the incident.
    pub message: String,
    /// The element, if it is known.
    pub element: Option<String>,
}

impl Fault {
    /// A fault without an element.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), element: None }
    }
}
