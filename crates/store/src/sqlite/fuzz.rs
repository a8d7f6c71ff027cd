//! What a start reads before SQLite does, for generated input (`crates/fuzz`).

use super::wal_check::{self, WalReport};

/// What was found in a write-ahead log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalSummary {
    /// Frames up to the end of the chain of checksums.
    pub valid_frames: u64,
    /// Whether frames of the same log follow it.
    pub has_tail: bool,
    /// The damage, as text.
    pub damage: Option<String>,
}

/// Reads a log.
pub fn read_log(bytes: &[u8]) -> WalSummary {
    let report = wal_check::report(bytes);
    let damage = report.damage();
    let WalReport { valid_frames, has_tail, .. } = report;
    WalSummary { valid_frames, has_tail, damage }
}

/// Writes a log with transactions of the given numbers of frames.
pub fn log_of_transactions(transactions: &[usize]) -> Vec<u8> {
    wal_check::log_of_transactions(transactions)
}
