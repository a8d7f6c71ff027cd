//! What SQLite says, in the store's words.

use meantime_kernel::store::Error;
use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Classifies an error of a statement. The transaction it was in did not take effect.
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

/// Whether a failed COMMIT may have taken effect all the same: the log was being written or synced
/// and nobody knows how far that came. Everything else is refused before the first byte.
pub(super) fn is_in_doubt(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Whether a sync failed. What the system had not written by then may be gone although a later
/// sync succeeds, so nothing may be written by this process any more.
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
