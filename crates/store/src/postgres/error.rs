//! Translates errors of PostgreSQL.

use meantime_kernel::store::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// Classifies an error of a statement. Its transaction had no effect.
pub(super) fn from_postgres(error: &tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(answer) => from_answer(answer),
        // A broken connection, a refused one, or a value that does not fit its column.
        None if is_lost(error) => Error::Unavailable(describe(error)),
        None => Error::Bug(describe(error)),
    }
}

/// Whether the connection cannot be used any more.
pub(super) fn is_lost(error: &tokio_postgres::Error) -> bool {
    match error.as_db_error() {
        Some(answer) => is_fatal(answer),
        None => error.is_closed() || is_io(error),
    }
}

/// Whether a failed COMMIT may have taken effect. If the server itself reports the failure, it did
/// not; after a broken connection it is unknown.
pub(super) fn is_in_doubt(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_none_or(is_fatal)
}

/// Whether the same transaction may succeed if it is repeated at once.
pub(super) fn is_worth_retrying(error: &tokio_postgres::Error) -> bool {
    let again = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
    is_lost(error) || error.code().is_some_and(|code| again.contains(code))
}

fn is_fatal(answer: &DbError) -> bool {
    matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic) | None)
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if inner.is::<std::io::Error>() {
            return true;
        }
        cause = inner.source();
    }
    // Connection errors without a code are recognised by their text.
    let text = error.to_string();
    let causes = ["error connecting", "error communicating", "timeout", "TLS handshake"];
    causes.iter().any(|it| text.contains(it))
}

fn from_answer(answer: &DbError) -> Error {
    let code = answer.code().code();
    let text = format!("{} ({code})", answer.message());
    let class = code.get(..2).unwrap_or_default();
    let is_transient = match class {
        // Connection errors, serialisation failures, resources, operator intervention, system
        // errors; unknown users or databases, which an operator has to fix.
        "08" | "28" | "3D" | "40" | "53" | "57" | "58" => true,
        // Idle timeout; lock not available; insufficient privilege.
        "25" => code == "25P03",
        "55" => code == "55P03",
        "42" => code == "42501",
        _ => false,
    };
    match code {
        "53100" => Error::Full,
        "25006" => Error::ReadOnly,
        "XX001" | "XX002" => Error::Corrupt(text),
        _ if is_transient => Error::Unavailable(text),
        _ => Error::Bug(text),
    }
}

fn describe(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
