//! Translates errors of SQLite.

use meantime_kernel::store::Error;
use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Classifies an error of a statement. Its transaction had no effect.
pub(super) fn from_sqlite(error: &rusqlite::Error) -> Error {
    let text = error.to_string();
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DiskFull => Error::Full,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Error::Corrupt(text),
            ErrorCode::ReadOnly => Error::ReadOnly,
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted => Error::Unavailable(text),
            _ => Error::Bug(text),
        },
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..) => Error::DamagedRow(text),
        _ => Error::Bug(text),
    }
}

/// Whether a failed COMMIT may have taken effect: the log was being written or synced, and it is
/// unknown how far. All other errors occur before the first byte is written.
pub(super) fn is_in_doubt(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Whether a sync failed. Data that the system had not written by then may be lost even if a later
/// sync succeeds, so this process must not write any more.
pub(super) fn is_failed_sync(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|failure| failure.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(extended_code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(extended_code), None)
    }

    #[test]
    fn every_kind_of_failure_has_its_code() {
        let code = |number| from_sqlite(&failure(number)).code();
        assert_eq!(code(ffi::SQLITE_FULL), "store_full");
        assert_eq!(code(ffi::SQLITE_CORRUPT), "store_corrupt");
        assert_eq!(code(ffi::SQLITE_NOTADB), "store_corrupt");
        assert_eq!(code(ffi::SQLITE_READONLY), "store_read_only");
        assert_eq!(code(ffi::SQLITE_BUSY), "store_unavailable");
        assert_eq!(code(ffi::SQLITE_IOERR_READ), "store_unavailable");
        assert_eq!(code(ffi::SQLITE_CONSTRAINT), "store_bug");
    }

    #[test]
    fn only_a_failed_write_or_sync_leaves_a_commit_in_doubt() {
        assert!(is_in_doubt(&failure(ffi::SQLITE_IOERR_FSYNC)));
        assert!(is_in_doubt(&failure(ffi::SQLITE_IOERR_WRITE)));
        assert!(!is_in_doubt(&failure(ffi::SQLITE_BUSY)));
        assert!(!is_in_doubt(&failure(ffi::SQLITE_FULL)));
        assert!(is_failed_sync(&failure(ffi::SQLITE_IOERR_FSYNC)));
        assert!(!is_failed_sync(&failure(ffi::SQLITE_IOERR_WRITE)));
    }
}
