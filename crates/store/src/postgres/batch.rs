//! Commits in flight: each has a row, so that commits never wait for each other, and so that it can
//! be determined whether one took effect (I2).
//!
//! A commit writes its number into a row that no other commit of its process uses. The row stays
//! locked until the commit is decided: a query that asks whether it took effect locks the row too,
//! and so waits for the decision. When a process loses its lease, its rows are closed, and a commit
//! that finds its row closed is rolled back (I5).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meantime_core::Timestamp;
use meantime_kernel::store::Error;

use super::connection::{Call, Connection, QueryAnswer, QueryError, values};
use super::feed::UnderWay;
use super::instance_count;
use crate::row::instance_count::Counts;
use crate::row::{Columns, int};

const MARK: &str = "UPDATE commit_row SET batch = $3, clock_at = greatest(clock_at, $4), \
     last_seq = greatest(last_seq, $5) WHERE lease_term = $1 AND row_number = $2 AND closed_at IS \
     NULL";
// The numbers are in rows that no other commit uses.
const MARK_AND_COUNT: &str = "WITH counted AS (INSERT INTO instance_count \
     (lease_term, row_number, definition_id, status, count) \
     SELECT $1, $2, * FROM unnest($6::bigint[], $7::text[], $8::bigint[]) \
     ON CONFLICT (lease_term, row_number, definition_id, status) \
     DO UPDATE SET count = instance_count.count + excluded.count) \
     UPDATE commit_row SET batch = $3, clock_at = greatest(clock_at, $4), \
     last_seq = greatest(last_seq, $5) WHERE lease_term = $1 AND row_number = $2 AND closed_at IS \
     NULL";
const DECIDED: &str =
    "SELECT batch FROM commit_row WHERE lease_term = $1 AND row_number = $2 FOR UPDATE";
const RECENT: &str = "SELECT 1 FROM commit_row WHERE lease_term = $1 AND batch = $2";
const NUMBER: &str = "SELECT nextval('node_number')";
const ADD: &str = "INSERT INTO commit_row (lease_term, row_number, batch, clock_at, last_seq) \
     SELECT $1, row_number, 0, 0, 0 FROM generate_series(0, $2 - 1) AS row_number";
const LOCK: &str = "SELECT lease_term FROM commit_row WHERE lease_term = ANY ($1::bigint[]) \
     FOR UPDATE SKIP LOCKED";
const CLOSE: &str = "UPDATE commit_row SET closed_at = $2 \
     WHERE lease_term = ANY ($1::bigint[]) AND closed_at IS NULL";
const CLOSE_OTHERS: &str =
    "UPDATE commit_row SET closed_at = 0 WHERE lease_term <> $1 AND closed_at IS NULL";
// All rows of a process are closed together, so none of its commits can count any more.
const FOLD: &str = "WITH gone AS (DELETE FROM commit_row WHERE closed_at <= $1 \
     RETURNING lease_term, clock_at, last_seq), counted AS (DELETE FROM instance_count \
     WHERE lease_term = ANY (ARRAY(SELECT lease_term FROM gone)) \
     RETURNING definition_id, status, count), added AS (INSERT INTO instance_count \
     (lease_term, row_number, definition_id, status, count) \
     SELECT 0, 0, definition_id, status, sum(count) FROM counted GROUP BY definition_id, status \
     ON CONFLICT (lease_term, row_number, definition_id, status) \
     DO UPDATE SET count = instance_count.count + excluded.count) UPDATE node \
     SET clock_at = greatest(node.clock_at, (SELECT max(clock_at) FROM gone)), \
     last_seq = greatest(node.last_seq, (SELECT max(last_seq) FROM gone)) \
     WHERE id = 1 AND EXISTS (SELECT 1 FROM gone)";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[MARK, MARK_AND_COUNT, DECIDED, RECENT, NUMBER, ADD, LOCK, CLOSE, CLOSE_OTHERS, FOLD];

/// The largest number of commits of one process that are in flight or in doubt.
const COMMIT_ROWS: i32 = 64;

/// The commit rows of this process.
#[derive(Default)]
pub(super) struct CommitRows(Mutex<State>);

#[derive(Default)]
struct State {
    /// The lease term of the process; `None` before its first heartbeat.
    lease_term: Option<i64>,
    /// Free rows, used in turn, so that the number of a commit stays in its row for a while.
    free: VecDeque<i32>,
    /// Commits whose answer was lost, with their rows.
    in_doubt: BTreeMap<u64, (i64, i32)>,
    /// Commits in doubt, for readers of the history.
    under_way: BTreeMap<u64, UnderWay>,
}

impl CommitRows {
    pub(super) fn lease_term(&self) -> Option<i64> {
        self.state().lease_term
    }

    /// Sets the lease term of the process.
    pub(super) fn set_lease_term(&self, lease_term: Option<i64>) {
        let mut state = self.state();
        if state.lease_term != lease_term {
            state.lease_term = lease_term;
            state.free = (0..COMMIT_ROWS).collect();
        }
    }

    /// A row for a commit that was prepared in a lease term. In another term its sequence numbers
    /// may have been assigned by another process, so the commit is rejected (I5).
    pub(super) fn take(self: &Arc<Self>, lease_term: Option<u64>) -> Result<CommitRow, Error> {
        let mut state = self.state();
        let is_same =
            |it: &i64| lease_term.is_none_or(|lease_term| u64::try_from(*it) == Ok(lease_term));
        let no_lease = || Error::Unavailable("the node has lost its lease".to_owned());
        let lease_term = state.lease_term.filter(is_same).ok_or_else(no_lease)?;
        let too_many = || Error::Unavailable("too many commits are in doubt".to_owned());
        let number = state.free.pop_front().ok_or_else(too_many)?;
        Ok(CommitRow { commit_rows: Arc::clone(self), lease_term, number, is_kept: false })
    }

    /// A commit is in doubt: until it is looked up, its history rows may still appear.
    pub(super) fn stays_under_way(&self, batch: u64, under_way: UnderWay) {
        self.state().under_way.insert(batch, under_way);
    }

    /// Whether a commit took effect. Waits for its decision if it may still be in flight.
    pub(super) async fn is_committed(
        &self,
        connection: &Connection,
        batch: u64,
    ) -> Result<bool, QueryError> {
        let row = self.state().in_doubt.get(&batch).copied();
        // Without an entry the commit is not in doubt: its row still has its number, if it took
        // effect.
        let Some((lease_term, row_number)) = row else {
            let lease_term = self.lease_term().unwrap_or_default();
            let found = connection.one(RECENT, values![lease_term, int(batch)]).await?;
            return Ok(!found.rows.is_empty());
        };
        let found = connection.one(DECIDED, values![lease_term, row_number]).await?;
        let number = found.first(|row| row.number(0))?;
        let mut state = self.state();
        state.in_doubt.remove(&batch);
        state.under_way.remove(&batch);
        if state.lease_term == Some(lease_term) {
            state.free.push_back(row_number);
        }
        Ok(number == Some(batch))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single step, so a panic leaves nothing inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The row of one commit. It is free again when this is dropped, unless the commit is in doubt.
pub(super) struct CommitRow {
    commit_rows: Arc<CommitRows>,
    lease_term: i64,
    number: i32,
    is_kept: bool,
}

impl CommitRow {
    /// Marks a commit as effective, with its time and largest number, and counts the instances that
    /// it starts and ends.
    pub(super) fn mark(
        &self,
        batch: u64,
        clock: Timestamp,
        seq: u64,
        counts: &Counts,
    ) -> Call<'static> {
        let mut values =
            values![self.lease_term, self.number, int(batch), clock.as_millis(), int(seq)];
        if counts.0.is_empty() {
            return Call::new(MARK, values);
        }
        let [definitions, statuses, numbers] = instance_count::columns(counts);
        values.extend([definitions, statuses, numbers]);
        Call::new(MARK_AND_COUNT, values)
    }

    /// The outcome of the commit is unknown: its row is not reused until it was looked up.
    pub(super) fn keep(mut self, batch: u64) {
        self.is_kept = true;
        self.commit_rows.state().in_doubt.insert(batch, (self.lease_term, self.number));
    }
}

impl Drop for CommitRow {
    fn drop(&mut self) {
        let mut state = self.commit_rows.state();
        if !self.is_kept && state.lease_term == Some(self.lease_term) {
            state.free.push_back(self.number);
        }
    }
}

/// Gives a process a new lease term, with rows for its commits.
pub(super) async fn register(connection: &Connection) -> Result<i64, QueryError> {
    let found = connection.one(NUMBER, Vec::new()).await?;
    let lease_term = found.first(|row| row.integer(0))?.unwrap_or_default();
    connection.one(ADD, values![lease_term, COMMIT_ROWS]).await?;
    Ok(lease_term)
}

/// Locks the rows of processes that seem to be dead, to be read by [`read_idle`].
pub(super) fn lock(lease_terms: &[i64]) -> Call<'static> {
    Call::new(LOCK, values![lease_terms.to_vec()])
}

/// The processes without a commit in flight: all their rows could be locked.
pub(super) fn read_idle(answer: &QueryAnswer) -> Result<Vec<i64>, Error> {
    let mut counts: BTreeMap<i64, i32> = BTreeMap::new();
    for lease_term in answer.read(|row| row.integer(0))? {
        *counts.entry(lease_term).or_default() += 1;
    }
    Ok(counts
        .into_iter()
        .filter(|(_, count)| *count == COMMIT_ROWS)
        .map(|(lease_term, _)| lease_term)
        .collect())
}

/// From now on no commit of these processes takes effect.
pub(super) fn close(lease_terms: &[i64], now: Timestamp) -> Call<'static> {
    Call::new(CLOSE, values![lease_terms.to_vec(), now.as_millis()])
}

/// From now on no commit of other processes takes effect.
pub(super) fn close_others(lease_term: i64) -> Call<'static> {
    Call::new(CLOSE_OTHERS, values![lease_term])
}

/// Deletes rows that were closed long ago; their highest time and number are kept.
pub(super) fn fold(until: Timestamp) -> Call<'static> {
    Call::new(FOLD, values![until.as_millis()])
}
