//! Counters of the connections, for tests, benchmarks and metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the store has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Plans that were committed: one transaction each.
    pub commits: u64,
    /// Units in them.
    pub units: u64,
    /// Statements that were run, for whatever purpose.
    pub statements: u64,
    /// Groups of statements that were sent together, that is, round trips.
    pub round_trips: u64,
    /// Commits that were repeated.
    pub replays: u64,
    /// Commits whose answer was lost.
    pub in_doubt: u64,
    /// Connections that were made.
    pub connections: u64,
    /// How often the database became unreachable.
    pub losses: u64,
}

/// The same counters, shared between tasks.
#[derive(Debug, Default)]
pub(super) struct PostgresCounters {
    pub(super) commits: AtomicU64,
    pub(super) units: AtomicU64,
    pub(super) statements: AtomicU64,
    pub(super) round_trips: AtomicU64,
    pub(super) replays: AtomicU64,
    pub(super) in_doubt: AtomicU64,
    pub(super) connections: AtomicU64,
    pub(super) losses: AtomicU64,
}

impl PostgresCounters {
    pub(super) fn add(counter: &AtomicU64, audit: usize) {
        counter.fetch_add(u64::try_from(audit).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn ran(&self, statements: usize) {
        Self::add(&self.statements, statements);
        Self::add(&self.round_trips, 1);
    }

    pub(super) fn read(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            commits: get(&self.commits),
            units: get(&self.units),
            statements: get(&self.statements),
            round_trips: get(&self.round_trips),
            replays: get(&self.replays),
            in_doubt: get(&self.in_doubt),
            connections: get(&self.connections),
            losses: get(&self.losses),
        }
    }
}
