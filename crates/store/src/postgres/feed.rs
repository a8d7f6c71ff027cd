//! How far the history of all instances can be read without missing a row.
//!
//! ```text
//!   history numbers ─────────────────┬───────────────┬──────────────►
//!    committed, nothing can be added │ commits in    │ not assigned
//!                                    │ flight        │ yet
//!                                 horizon
//! ```
//!
//! Commits of several batches and nodes end in any order, so a larger number may become visible
//! before a smaller one. A reader that continues after the last number it has seen must not read
//! beyond the smallest number that may still appear: that of the oldest commit in flight here, and
//! for other nodes that of the oldest transaction, with a margin, because numbers begin with their
//! time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meantime_core::Timestamp;
use meantime_kernel::store::{Plan, Write};

use super::connection::{Call, QueryAnswer};
use crate::row::Columns;

const OLDEST: &str = "SELECT (extract(epoch FROM min(xact_start)) * 1000)::bigint \
     FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user \
     AND application_name LIKE 'meantime%' AND state <> 'idle'";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[OLDEST];

/// The number of bits of a sequence number below its milliseconds.
const COUNTER_BITS: u32 = 15;

/// How much older than its transaction a number may be, in milliseconds: clocks differ by at most
/// half a second (I7), and a plan may wait for a connection.
const MARGIN_MS: i64 = 1_000;

/// Commits of this process that are in flight.
#[derive(Default)]
pub(super) struct Feed(Mutex<State>);

#[derive(Default)]
struct State {
    /// The smallest history number of each commit in flight, with a count.
    under_way: BTreeMap<u64, usize>,
    /// The largest number that was assigned to a commit.
    newest: u64,
}

impl Feed {
    /// A plan is about to be committed.
    pub(super) fn begin(self: &Arc<Self>, plan: &Plan) -> UnderWay {
        let writes = plan.units.iter().flat_map(|unit| &unit.writes);
        let numbers = writes.filter_map(|write| match write {
            Write::History(row) => Some(row.seq),
            _ => None,
        });
        let (first, last) =
            numbers.fold((u64::MAX, 0), |(first, last), seq| (first.min(seq), last.max(seq)));
        let mut state = self.state();
        state.newest = state.newest.max(last);
        *state.under_way.entry(first).or_default() += 1;
        UnderWay { feed: Arc::clone(self), first }
    }

    /// Numbers up to this one were assigned before.
    pub(super) fn begin_after(&self, newest: u64) {
        self.state().newest = newest;
    }

    /// The smallest history number of the commits of this process that are in flight.
    pub(super) fn oldest(&self) -> u64 {
        self.state().under_way.keys().next().copied().unwrap_or(u64::MAX)
    }

    /// The smallest number that this process may still add, if it is the only one.
    pub(super) fn horizon(&self) -> u64 {
        let state = self.state();
        let oldest = state.under_way.keys().next().copied().unwrap_or(u64::MAX);
        oldest.min(state.newest.saturating_add(1))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single step, so a panic leaves nothing inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A commit in flight; it ends when this is dropped.
pub(super) struct UnderWay {
    feed: Arc<Feed>,
    first: u64,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.feed.state();
        if let Some(count) = state.under_way.get_mut(&self.first) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                state.under_way.remove(&self.first);
            }
        }
    }
}

/// When the oldest transaction of any node began.
pub(super) fn oldest() -> Call<'static> {
    Call::plain(OLDEST)
}

/// The smallest number that any node may still add.
pub(super) fn read_horizon(answer: &QueryAnswer) -> Result<u64, meantime_kernel::store::Error> {
    let began = answer.first(|row| row.instant_if(0, "activity"))?.flatten();
    // The statement itself is a transaction, so there is always one.
    let began = began.unwrap_or(Timestamp::MIN).saturating_add_millis(-MARGIN_MS);
    let ms = u64::try_from(began.as_millis()).unwrap_or_default();
    Ok(ms << COUNTER_BITS)
}
