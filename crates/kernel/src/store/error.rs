//! Errors of stores, with the class that decides how callers react.

use super::UnitResult;

/// An error of a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store is busy or unreachable at the moment; nothing was written.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// The commit was sent and its answer was lost. The results apply if it took effect.
    #[error("the answer to a commit was lost: {message}")]
    Ambiguous {
        /// The results that the transaction had before the answer was lost.
        results: Vec<UnitResult>,
        /// What happened.
        message: String,
    },
    /// Writing failed with an error after which only a restart can tell what was written.
    #[error("writing failed; start the process again: {0}")]
    Failed(String),
    /// No space is left. Nothing was written; reading still works.
    #[error("the disk is full")]
    Full,
    /// The file is damaged, or is not a Meantime store.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// One row cannot be decoded; everything else is usable.
    #[error("the store is damaged: {0}")]
    DamagedRow(String),
    /// Another process owns the file.
    #[error("the store is in use by another process: {0}")]
    Locked(String),
    /// The store was written by a newer release.
    #[error("the store has schema {found}, this release knows {known}")]
    NewerSchema {
        /// The version of the file.
        found: u32,
        /// The version of this release.
        known: u32,
    },
    /// This machine's clock is far behind the time that the store has seen (T13).
    #[error("the clock is {behind_s} s behind the time this store has seen")]
    ClockBehind {
        /// By how many seconds.
        behind_s: i64,
    },
    /// The file of the store was removed or replaced while it was open.
    #[error("the file of the store was removed or replaced: {0}")]
    FileReplaced(String),
    /// The store may only be read.
    #[error("the store is read-only")]
    ReadOnly,
    /// A defect of Meantime.
    #[error("internal error of the store: {0}")]
    Bug(String),
}

/// How to react to an error. Retry decisions depend on nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Try again later.
    Transient,
    /// Ask whether it took effect, then decide.
    Unknown,
    /// Stop and restart: recovery decides.
    Restart,
    /// Free some space, then try again.
    Full,
    /// Stop: restore a backup.
    Corrupt,
    /// Stop: report it.
    Bug,
}

impl Error {
    /// The class of this error.
    pub fn class(&self) -> Class {
        match self {
            Self::Unavailable(_) | Self::Locked(_) => Class::Transient,
            Self::Ambiguous { .. } => Class::Unknown,
            Self::Failed(_) | Self::FileReplaced(_) | Self::ClockBehind { .. } => Class::Restart,
            Self::Full | Self::ReadOnly => Class::Full,
            Self::Corrupt(_) | Self::DamagedRow(_) | Self::NewerSchema { .. } => Class::Corrupt,
            Self::Bug(_) => Class::Bug,
        }
    }

    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "store_unavailable",
            Self::Ambiguous { .. } => "store_ambiguous",
            Self::Failed(_) => "store_failed",
            Self::Full => "store_full",
            Self::Corrupt(_) => "store_corrupt",
            Self::DamagedRow(_) => "store_row_damaged",
            Self::Locked(_) => "store_locked",
            Self::NewerSchema { .. } => "store_newer_schema",
            Self::ClockBehind { .. } => "clock_behind",
            Self::FileReplaced(_) => "store_file_replaced",
            Self::ReadOnly => "store_read_only",
            Self::Bug(_) => "store_bug",
        }
    }
}
