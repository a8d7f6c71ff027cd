//! Counters of the writer, for tests, benchmarks and metrics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the writer has done since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Transactions that were committed: one sync each.
    pub commits: u64,
    /// Plans in them.
    pub plans: u64,
    /// Units in them.
    pub units: u64,
    /// Units that started or advanced an instance.
    pub turns: u64,
    /// Statements that were executed for them.
    pub statements: u64,
    /// Transactions that were rolled back and repeated in parts.
    pub replays: u64,
    /// Checkpoints that were run.
    pub checkpoints: u64,
    /// Pages written to the write-ahead log in total.
    pub wal_pages: u64,
}

/// The same counters, shared between threads.
#[derive(Debug, Default)]
pub(super) struct SqliteCounters {
    pub(super) commits: AtomicU64,
    pub(super) plans: AtomicU64,
    pub(super) units: AtomicU64,
    pub(super) turns: AtomicU64,
    pub(super) statements: AtomicU64,
    pub(super) replays: AtomicU64,
    pub(super) checkpoints: AtomicU64,
    pub(super) wal_pages: AtomicU64,
    /// Backups that are running.
    pub(super) backups: AtomicU64,
    /// A sync failed or the answer of a commit was lost: nothing may be written until the file is
    /// reopened.
    pub(super) failed: AtomicBool,
}

impl SqliteCounters {
    pub(super) fn add(counter: &AtomicU64, audit: u64) {
        counter.fetch_add(audit, Ordering::Relaxed);
    }

    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    pub(super) fn read(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            commits: get(&self.commits),
            plans: get(&self.plans),
            units: get(&self.units),
            turns: get(&self.turns),
            statements: get(&self.statements),
            replays: get(&self.replays),
            checkpoints: get(&self.checkpoints),
            wal_pages: get(&self.wal_pages),
        }
    }
}
