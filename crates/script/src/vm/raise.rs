//! Errors and faults of operations.

use meantime_core::Fault;
use meantime_core::time::TimeError;

use super::value::Value;

/// The result of an operation.
pub(crate) type VmResult<T> = Result<T, Raise>;

/// Boxed to keep `Result` small in the hottest loops.
#[derive(Debug)]
pub(crate) struct Raise(pub(crate) Box<RaiseKind>);

#[derive(Debug)]
pub(crate) enum RaiseKind {
    /// Thrown by the script, or a complete error.
    Throw(Value),
    /// An error of the engine; its position is added when it is handled.
    Error { name: &'static str, code: &'static str, message: String },
    /// A limit was reached, or the state is invalid: the turn cannot continue.
    Fault(Fault),
}

impl Raise {
    pub(crate) fn throw(value: Value) -> Self {
        Self(Box::new(RaiseKind::Throw(value)))
    }

    pub(crate) fn fault(fault: Fault) -> Self {
        Self(Box::new(RaiseKind::Fault(fault)))
    }
}

/// A value of the wrong kind.
pub(crate) fn type_error(message: impl Into<String>) -> Raise {
    Raise(Box::new(RaiseKind::Error {
        name: "TypeError",
        code: "TypeError",
        message: message.into(),
    }))
}

/// A value out of its range.
pub(crate) fn range_error(message: impl Into<String>) -> Raise {
    Raise(Box::new(RaiseKind::Error {
        name: "RangeError",
        code: "RangeError",
        message: message.into(),
    }))
}

/// A text that is not JSON.
pub(crate) fn syntax_error(message: impl Into<String>) -> Raise {
    Raise(Box::new(RaiseKind::Error {
        name: "SyntaxError",
        code: "SyntaxError",
        message: message.into(),
    }))
}

/// The code of features that are rejected at run time.
const fn code() -> &'static str {
    "unsupported"
}

/// A JavaScript feature that is rejected rather than done differently.
pub(crate) fn unsupported(message: impl Into<String>) -> Raise {
    Raise(Box::new(RaiseKind::Error { name: "TypeError", code: code(), message: message.into() }))
}

/// JSON that cannot be kept unchanged.
pub(crate) fn unsupported_json(message: impl Into<String>) -> Raise {
    let (name, code, message) = ("TypeError", "unsupported_json", message.into());
    Raise(Box::new(RaiseKind::Error { name, code, message }))
}

/// A text about time that makes no sense: a value out of range with a code of its own.
pub(crate) fn time_error(error: &TimeError) -> Raise {
    let (name, code, message) = ("RangeError", error.code(), error.to_string());
    Raise(Box::new(RaiseKind::Error { name, code, message }))
}

/// A limit of the engine.
pub(crate) fn limit(code: &str, message: impl Into<String>) -> Raise {
    Raise::fault(Fault::new(code, message))
}

/// Something that compiled code never does: the state is corrupt.
pub(crate) fn corrupt(what: &str) -> Raise {
    limit("corrupt_state", format!("the saved state is invalid: {what}"))
}
