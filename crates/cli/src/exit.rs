//! Exit codes: 0 done, 1 refused or failed, 2 wrong usage, or a file or server cannot be reached.

use std::process::ExitCode;

use crate::client::ClientError;

/// Refused or failed.
pub(crate) const REFUSED: u8 = 1;

/// Wrong usage, or a file or server cannot be reached.
pub(crate) const UNREACHABLE: u8 = 2;

/// The exit code of an error.
pub(crate) fn code_of(error: &anyhow::Error) -> ExitCode {
    let is_io = error.chain().any(|cause| {
        let client = cause.downcast_ref::<ClientError>();
        cause.is::<std::io::Error>() || client.is_some_and(ClientError::is_unreachable)
    });
    ExitCode::from(if is_io { UNREACHABLE } else { REFUSED })
}
