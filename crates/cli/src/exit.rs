//! Exit codes: 0 success, 1 rejected or failed, 2 wrong usage, or a file or server cannot be
//! reached.

use std::process::ExitCode;

use crate::client::ClientError;

/// Rejected or failed.
pub(crate) const FAILURE: u8 = 1;

/// Wrong usage, or a file or server cannot be reached.
pub(crate) const USAGE_OR_IO: u8 = 2;

/// Wrong usage of a command.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// The message of an error and its causes. A cause that a message already contains is left out.
pub(crate) fn message_of(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// The exit code of an error.
pub(crate) fn code_of(error: &anyhow::Error) -> ExitCode {
    let is_io = error.chain().any(|cause| {
        let client = cause.downcast_ref::<ClientError>();
        cause.is::<std::io::Error>()
            || cause.is::<UsageError>()
            || client.is_some_and(ClientError::is_unreachable)
    });
    ExitCode::from(if is_io { USAGE_OR_IO } else { FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot listen on {address}: {source}")]
    struct Listen {
        address: &'static str,
        #[source]
        source: std::io::Error,
    }

    /// An error whose message contains its cause, and that also has it as a source.
    #[test]
    fn each_cause_is_printed_once() {
        let source = std::io::Error::other("address already in use");
        let error = anyhow::Error::new(Listen { address: "127.0.0.1:1", source });
        let error = error.context("the server");
        let text = "the server: cannot listen on 127.0.0.1:1: address already in use";
        assert_eq!(message_of(&error), text);
        let plain = anyhow::anyhow!("no such file").context("a.flow.js");
        assert_eq!(message_of(&plain), "a.flow.js: no such file");
    }
}
