//! The outcome of an instance.

use meantime_core::{Definition, Failure, Fault, Json, Outcome, Termination, Timestamp};
use meantime_script::Machine;

/// The workflow returned.
pub(crate) fn finished(machine: &mut Machine<'_>) -> Result<Outcome, Fault> {
    let context = machine.variables();
    Ok(match machine.result()? {
        Ok(output) => Outcome::Completed { output, context },
        Err(failure) => {
            Outcome::Failed { failure, termination: Termination::RuntimeError, context }
        }
    })
}

/// The script threw an error that it does not catch.
pub(crate) fn uncaught(machine: &mut Machine<'_>, trace: Json) -> Outcome {
    let context = machine.variables();
    let (value, text) = machine.error();
    let text_of = |name: &str| machine.error_part(name).and_then(|json| json.read::<String>().ok());
    let name = text_of("name");
    let (message, data) = match text_of("message") {
        // An error has its data; any other thrown value is the data itself.
        Some(message) => (message, machine.error_part("data")),
        None => (text, Some(value)),
    };
    let code = text_of("code").or_else(|| name.clone()).unwrap_or_else(|| "Error".to_owned());
    let termination = match name.as_deref() {
        Some("TypeError" | "RangeError") => Termination::RuntimeError,
        _ => Termination::Fail,
    };
    let data = data.filter(|data| !data.is_null());
    let failure = Failure { code, message, data, trace: Some(trace) };
    Outcome::Failed { failure, termination, context }
}

/// The instance was cancelled. No script code runs.
pub(crate) fn cancelled(machine: &Machine<'_>, reason: &str) -> Outcome {
    Outcome::Cancelled { reason: reason.to_owned(), context: machine.variables() }
}

/// Its deadline passed (D2, D5). No script code runs.
pub(crate) fn timed_out(
    machine: &Machine<'_>,
    definition: &Definition,
    deadline: Option<Timestamp>,
) -> Outcome {
    Outcome::timed_out(definition.execution.as_ref(), deadline, machine.variables())
}
