//! Commits in flight: a row for each, so that they never wait for each other, and so that it can be
//! found out whether one took effect (I2).
//!
//! A commit writes its number into a row that no other commit of its process uses. The row stays
//! locked until the commit is decided: whoever wants to know whether it took effect locks the row
//! too, and so waits for the decision. A row whose process has lost its seat is closed, and a
//! commit that finds its row closed is rolled back (I5).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meantime_core::Timestamp;
use meantime_kernel::store::Error;

use super::connection::{Answer, Call, Connection, Failure, values};
use super::feed::UnderWay;
use crate::row::{Columns, int};

const MARK: &str = "UPDATE batch SET number = $3, clock_at = greatest(clock_at, $4), \
     last_seq = greatest(last_seq, $5) WHERE holder = $1 AND slot = $2 AND closed_at IS NULL";
const DECIDED: &str = "SELECT number FROM batch WHERE holder = $1 AND slot = $2 FOR UPDATE";
const RECENT: &str = "SELECT 1 FROM batch WHERE holder = $1 AND number = $2";
const NUMBER: &str = "SELECT nextval('node_number')";
const ADD: &str = "INSERT INTO batch (holder, slot, number, clock_at, last_seq) \
     SELECT $1, slot, 0, 0, 0 FROM generate_series(0, $2 - 1) AS slot";
const LOCK: &str = "SELECT holder FROM batch WHERE holder = ANY ($1::bigint[]) \
     FOR UPDATE SKIP LOCKED";
const CLOSE: &str = "UPDATE batch SET closed_at = $2 \
     WHERE holder = ANY ($1::bigint[]) AND closed_at IS NULL";
const CLOSE_OTHERS: &str =
    "UPDATE batch SET closed_at = 0 WHERE holder <> $1 AND closed_at IS NULL";
const FOLD: &str = "WITH gone AS (DELETE FROM batch WHERE closed_at <= $1 \
     RETURNING clock_at, last_seq) UPDATE node \
     SET clock_at = greatest(node.clock_at, (SELECT max(clock_at) FROM gone)), \
     last_seq = greatest(node.last_seq, (SELECT max(last_seq) FROM gone)) \
     WHERE id = 1 AND EXISTS (SELECT 1 FROM gone)";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[MARK, DECIDED, RECENT, NUMBER, ADD, LOCK, CLOSE, CLOSE_OTHERS, FOLD];

/// Commits of one process that can be in flight or in doubt at a time.
const SLOTS: i32 = 64;

/// The rows of this process.
#[derive(Default)]
pub(super) struct Slots(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of the process; none before its first sign of life.
    holder: Option<i64>,
    /// Used in turn, so that the number of a commit stays in its row for a while.
    free: VecDeque<i32>,
    /// Commits whose answer was lost, with their rows.
    in_doubt: BTreeMap<u64, (i64, i32)>,
    /// The same, as far as readers of the history are concerned.
    under_way: BTreeMap<u64, UnderWay>,
}

impl Slots {
    pub(super) fn holder(&self) -> Option<i64> {
        self.state().holder
    }

    /// The process has this number from now on, or none.
    pub(super) fn set_holder(&self, holder: Option<i64>) {
        let mut state = self.state();
        if state.holder != holder {
            state.holder = holder;
            state.free = (0..SLOTS).collect();
        }
    }

    /// A row for a commit that was prepared in a sitting. In another one the numbers that it gives
    /// may be somebody else's (I5).
    pub(super) fn take(self: &Arc<Self>, sitting: Option<u64>) -> Result<Slot, Error> {
        let mut state = self.state();
        let is_same = |it: &i64| sitting.is_none_or(|sitting| u64::try_from(*it) == Ok(sitting));
        let no_seat = || Error::Unavailable("the node has lost its seat".to_owned());
        let holder = state.holder.filter(is_same).ok_or_else(no_seat)?;
        let too_many = || Error::Unavailable("too many commits are in doubt".to_owned());
        let number = state.free.pop_front().ok_or_else(too_many)?;
        Ok(Slot { slots: Arc::clone(self), holder, number, is_kept: false })
    }

    /// A commit is in doubt: until somebody asked, its rows of history may still appear.
    pub(super) fn stays_under_way(&self, batch: u64, under_way: UnderWay) {
        self.state().under_way.insert(batch, under_way);
    }

    /// Whether a commit took effect. Waits until it is decided, if it may still be under way.
    pub(super) async fn is_committed(
        &self,
        connection: &Connection,
        batch: u64,
    ) -> Result<bool, Failure> {
        let place = self.state().in_doubt.get(&batch).copied();
        let Some((holder, slot)) = place else {
            let holder = self.holder().unwrap_or_default();
            let found = connection.one(RECENT, values![holder, int(batch)]).await?;
            return Ok(!found.rows.is_empty());
        };
        let found = connection.one(DECIDED, values![holder, slot]).await?;
        let number = found.first(|row| row.number(0))?;
        let mut state = self.state();
        state.in_doubt.remove(&batch);
        state.under_way.remove(&batch);
        if state.holder == Some(holder) {
            state.free.push_back(slot);
        }
        Ok(number == Some(batch))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The row of one commit. It is free again when this is dropped, unless the commit is in doubt.
pub(super) struct Slot {
    slots: Arc<Slots>,
    holder: i64,
    number: i32,
    is_kept: bool,
}

impl Slot {
    /// Writes down that a commit takes effect, with the latest time and number it has seen.
    pub(super) fn mark(&self, batch: u64, clock: Timestamp, seq: u64) -> Call<'static> {
        let values = values![self.holder, self.number, int(batch), clock.as_millis(), int(seq)];
        Call::new(MARK, values)
    }

    /// Nobody knows whether the commit took effect: its row is not used until somebody asked.
    pub(super) fn keep(mut self, batch: u64) {
        self.is_kept = true;
        self.slots.state().in_doubt.insert(batch, (self.holder, self.number));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.slots.state();
        if !self.is_kept && state.holder == Some(self.holder) {
            state.free.push_back(self.number);
        }
    }
}

/// Gives a process a new number, with rows for its commits.
pub(super) async fn register(connection: &Connection) -> Result<i64, Failure> {
    let found = connection.one(NUMBER, Vec::new()).await?;
    let holder = found.first(|row| row.integer(0))?.unwrap_or_default();
    connection.one(ADD, values![holder, SLOTS]).await?;
    Ok(holder)
}

/// Locks the rows of processes that seem to be gone, to be read by [`read_idle`].
pub(super) fn lock(holders: &[i64]) -> Call<'static> {
    Call::new(LOCK, values![holders.to_vec()])
}

/// Those of the processes of whom no commit is under way.
pub(super) fn read_idle(answer: &Answer) -> Result<Vec<i64>, Error> {
    let mut counts: BTreeMap<i64, i32> = BTreeMap::new();
    for holder in answer.read(|row| row.integer(0))? {
        *counts.entry(holder).or_default() += 1;
    }
    Ok(counts.into_iter().filter(|(_, count)| *count == SLOTS).map(|(holder, _)| holder).collect())
}

/// No commit of these processes takes effect from now on.
pub(super) fn close(holders: &[i64], now: Timestamp) -> Call<'static> {
    Call::new(CLOSE, values![holders.to_vec(), now.as_millis()])
}

/// The same for everybody else.
pub(super) fn close_others(holder: i64) -> Call<'static> {
    Call::new(CLOSE_OTHERS, values![holder])
}

/// Forgets rows that were closed long ago; what they have seen is kept.
pub(super) fn fold(until: Timestamp) -> Call<'static> {
    Call::new(FOLD, values![until.as_millis()])
}
