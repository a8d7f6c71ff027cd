//! Leases: which processes share the store, and which of them may write.
//!
//! ```text
//!   heartbeat ─► a session lock is missing for `MISSING_SESSION_MS` ───────────► lease is freed
//!           └──► a lease expired, and this node has sent heartbeats all along ─► lease is freed
//! ```
//!
//! The server releases the lock of a session when its process ends, so a killed process is noticed
//! before its lease expires. A missing session may also be about to be established again, after a
//! restart of the server or a broken connection, so it is given some time. After a stall of the
//! database all leases may have expired: a node that could not send heartbeats itself waits before
//! it frees leases whose sessions are still there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::Timestamp;
use meantime_kernel::store::{Error, Membership, NodeIndex};

use super::batch::{self, CommitRows};
use super::connection::{Call, QueryError, values};
use super::core::Core;
use super::options::LeaseClock;
use super::pool::{Pool, PooledConnection};
use super::{clock, lock};
use crate::row::Columns;

/// A process that stops during its heartbeat must not block the heartbeats of others.
const SHORT_IDLE_TIMEOUT: &str = "SET LOCAL idle_in_transaction_session_timeout = 2000";
const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";
const LIST: &str = "SELECT number, lease_term, until_at, session, \
     session IS NOT NULL AND pg_try_advisory_xact_lock(session) FROM node_lease ORDER BY number";
const FREE: &str = "DELETE FROM node_lease WHERE lease_term = ANY ($1::bigint[])";
const ACQUIRE: &str = "INSERT INTO node_lease (number, lease_term, until_at, session) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (number) DO UPDATE SET lease_term = excluded.lease_term, until_at = excluded.until_at, \
     session = excluded.session";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LOCK, LIST, FREE, ACQUIRE];

/// How long the commit rows of a dead process are kept, in milliseconds: its last commit may still
/// be looked up.
const CLOSED_MS: i64 = 600_000;

/// How long a session must be missing before its process counts as dead, in milliseconds.
const MISSING_SESSION_MS: i64 = 1_500;

/// A longer gap between two heartbeats of this node means that it, or the database, stalled.
const STALL_MS: i64 = 6_000;

/// How long after a stall expired leases of others are left alone, in milliseconds.
const STALL_RECOVERY_MS: i64 = 3_000;

/// How much later than due a lease is checked again, in milliseconds.
const RECHECK_MARGIN_MS: i64 = 100;

/// A lease in use.
struct NodeLeaseRow {
    node_index: NodeIndex,
    lease_term: i64,
    until: Timestamp,
    session: Option<i64>,
    /// The lock of its session is not held.
    is_gone: bool,
}

/// What earlier heartbeats have seen: since when sessions are missing.
#[derive(Default)]
pub(super) struct MissingSessions(Mutex<Missing>);

#[derive(Default)]
struct Missing {
    /// The session of this process. If it was established again, earlier observations do not count.
    session: Option<i64>,
    /// The first heartbeat after the latest stall.
    steady_since: Timestamp,
    gone: BTreeMap<(i64, i64), Timestamp>,
}

impl MissingSessions {
    /// Since when there was no stall, and since when the sessions of leases are missing.
    fn update(
        &self,
        session: Option<i64>,
        previous_heartbeat: Option<Timestamp>,
        nodes: &[NodeLeaseRow],
        now: Timestamp,
    ) -> (Timestamp, BTreeMap<i64, Timestamp>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // After a reconnect or a stall, missing sessions and expired leases may only mean that the
        // database was unavailable for all nodes: the waiting times start again.
        let gap = previous_heartbeat.map(|at| now.saturating_since(at));
        if seen.session != session {
            *seen = Missing { session, steady_since: now, gone: BTreeMap::new() };
        } else if gap.is_none_or(|gap| !(0..=STALL_MS).contains(&gap)) {
            seen.steady_since = now;
        }
        let gone = nodes.iter().filter(|lease| lease.is_gone);
        let gone = gone.filter_map(|lease| Some((lease.lease_term, lease.session?)));
        let known = std::mem::take(&mut seen.gone);
        let since = |key: &(i64, i64)| known.get(key).copied().unwrap_or(now).min(now);
        seen.gone = gone.map(|key| (key, since(&key))).collect();
        let missing = seen.gone.iter().map(|((lease_term, _), since)| (*lease_term, *since));
        (seen.steady_since, missing.collect())
    }
}

/// The leases as one heartbeat sees them.
struct Observation {
    now: Timestamp,
    mine: Option<i64>,
    steady_since: Timestamp,
    lease_clock: LeaseClock,
    missing_since: BTreeMap<i64, Timestamp>,
}

impl Observation {
    /// Whether the process of a lease is dead.
    fn is_free(&self, lease: &NodeLeaseRow) -> bool {
        // Without a session lock, or with a simulated clock, only the expiry counts.
        let is_over = NodeIndex::is_free(lease.until, self.now);
        if self.lease_clock == LeaseClock::Caller || lease.session.is_none() {
            return is_over;
        }
        match self.missing_since.get(&lease.lease_term) {
            Some(since) => {
                // At its start a process has no earlier observations. A lease that expired this
                // long ago needs none.
                let long_ago = lease.until.saturating_add_millis(NodeIndex::LEASE_MS) < self.now;
                (long_ago && self.mine.is_none())
                    || self.now.saturating_since(*since) >= MISSING_SESSION_MS
            }
            // The session is open: the host may have lost power, and the server has not noticed.
            // The expiry counts, unless this node itself has just recovered from a stall, after
            // which every lease looks expired.
            None => is_over && self.now.saturating_since(self.steady_since) >= STALL_RECOVERY_MS,
        }
    }

    /// When a lease may be free, in milliseconds from now.
    fn recheck_ms(&self, lease: &NodeLeaseRow) -> Option<i64> {
        if self.lease_clock == LeaseClock::Caller || Some(lease.lease_term) == self.mine {
            return None;
        }
        let settled = self.steady_since.saturating_add_millis(STALL_RECOVERY_MS);
        let left = lease.until.max(settled).saturating_since(self.now);
        let gone = self.missing_since.get(&lease.lease_term);
        let gone = gone.map(|since| MISSING_SESSION_MS - self.now.saturating_since(*since));
        let ms = gone.map_or(left, |gone| gone.min(left));
        Some(ms.max(0).saturating_add(RECHECK_MARGIN_MS))
    }
}

/// A heartbeat: renews or acquires the lease, and frees those of dead processes.
pub(super) async fn renew_lease(core: &Core, real: Timestamp) -> Result<Membership, Error> {
    let (commit_rows, lease_clock) = (&core.committer.commit_rows, core.options.lease_clock);
    let session = core.monitor.session();
    let mut pooled = core.writers.acquire().await?;
    let begin = pooled.begin();
    let lock = Call::new(LOCK, values![lock::NODE_LEASES]);
    // The time is read last: waiting for the lock must not make it old.
    let calls = [begin, Call::plain(SHORT_IDLE_TIMEOUT), lock, Call::plain(LIST), clock::read()];
    let answers = pooled.run(&calls).await?;
    let [.., list, time] = answers.as_slice() else {
        return Err(Error::Bug("a statement without an answer".to_owned()));
    };
    let database = time.first(|row| row.instant(0, "node_lease"))?;
    let time = database.filter(|_| lease_clock == LeaseClock::Database);
    let now = time.unwrap_or(real);
    let mut nodes = list.read(|row| {
        let number = u8::try_from(row.integer(0)?).unwrap_or(NodeIndex::COUNT);
        let (lease_term, until) = (row.integer(1)?, row.instant(2, "node_lease")?);
        let (session, is_gone) = (row.integer_if(3)?, row.flag(4)?);
        Ok(NodeLeaseRow { node_index: NodeIndex(number), lease_term, until, session, is_gone })
    })?;
    let mine = commit_rows.lease_term();
    let before = nodes.iter().find(|lease| Some(lease.lease_term) == mine);
    let previous = before.map(|it| it.until.saturating_add_millis(-NodeIndex::LEASE_MS));
    let (steady_since, missing_since) =
        core.missing_sessions.update(session, previous, &nodes, now);
    let observation = Observation { now, mine, steady_since, lease_clock, missing_since };
    let gone = free_expired(&pooled, &nodes, &observation).await?;
    nodes.retain(|lease| !gone.contains(&lease.lease_term));
    let recheck_ms = nodes.iter().filter_map(|lease| observation.recheck_ms(lease)).min();
    let (lease_term, node_index) = match nodes.iter().find(|lease| Some(lease.lease_term) == mine) {
        Some(lease) => (lease.lease_term, lease.node_index),
        None => (batch::register(&pooled).await?, free_index(&nodes)?),
    };
    let until = now.saturating_add_millis(NodeIndex::LEASE_MS);
    let number = i32::from(node_index.0);
    let acquire = Call::new(ACQUIRE, values![number, lease_term, until.as_millis(), session]);
    let fold = batch::fold(now.saturating_add_millis(-CLOSED_MS));
    pooled.run(&[acquire, fold]).await?;
    pooled.commit().await?;
    // Only after the commit: a commit must not use a lease term that was rolled back.
    commit_rows.set_lease_term(Some(lease_term));
    let mut nodes: BTreeSet<NodeIndex> = nodes.iter().map(|lease| lease.node_index).collect();
    nodes.insert(node_index);
    let lasts_ms = Some(NodeIndex::TRUSTED_MS);
    let lease_term = u64::try_from(lease_term).ok();
    Ok(Membership {
        node_index,
        lease_term,
        nodes: nodes.into_iter().collect(),
        lasts_ms,
        time,
        recheck_ms,
    })
}

/// Gives up the lease. Commits that have marked their rows are waited for, because closing a row
/// needs its lock; later ones find their rows closed and are rolled back.
pub(super) async fn leave(pool: &Arc<Pool>, commit_rows: &CommitRows) -> Result<(), Error> {
    let Some(lease_term) = commit_rows.lease_term() else { return Ok(()) };
    let mut pooled = pool.acquire().await?;
    let begin = pooled.begin();
    let lock = Call::new(LOCK, values![lock::NODE_LEASES]);
    let close = batch::close(&[lease_term], Timestamp::default());
    let free = Call::new(FREE, values![vec![lease_term]]);
    pooled.run(&[begin, lock, close, free]).await?;
    pooled.commit().await?;
    commit_rows.set_lease_term(None);
    Ok(())
}

/// Frees the leases of dead processes. One with a commit in flight is left to the next heartbeat:
/// its rows are locked, and whether it takes effect is being decided.
async fn free_expired(
    pooled: &PooledConnection,
    nodes: &[NodeLeaseRow],
    observation: &Observation,
) -> Result<Vec<i64>, QueryError> {
    let is_gone = |lease: &&NodeLeaseRow| {
        Some(lease.lease_term) != observation.mine && observation.is_free(lease)
    };
    let gone: Vec<i64> = nodes.iter().filter(is_gone).map(|lease| lease.lease_term).collect();
    if gone.is_empty() {
        return Ok(gone);
    }
    let answers = pooled.run(&[batch::lock(&gone)]).await?;
    let Some(answer) = answers.first() else { return Ok(Vec::new()) };
    let idle = batch::read_idle(answer)?;
    let free = Call::new(FREE, values![idle.clone()]);
    pooled.run(&[batch::close(&idle, observation.now), free]).await?;
    Ok(idle)
}

fn free_index(lease: &[NodeLeaseRow]) -> Result<NodeIndex, Error> {
    let is_free =
        |node_index: &NodeIndex| !lease.iter().any(|lease| lease.node_index == *node_index);
    let free = (0..NodeIndex::COUNT).map(NodeIndex).find(is_free);
    free.ok_or_else(|| Error::Unavailable("all node indexes are in use".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(until_s: i64, is_gone: bool) -> NodeLeaseRow {
        let until = Timestamp::from_millis(until_s * 1_000);
        NodeLeaseRow { node_index: NodeIndex(1), lease_term: 1, until, session: Some(7), is_gone }
    }

    /// A heartbeat at one second, after one at another second, by a node with earlier observations.
    fn observe(
        seen: &MissingSessions,
        lease: &NodeLeaseRow,
        previous: i64,
        second: i64,
    ) -> Observation {
        let at = |second: i64| Timestamp::from_millis(second * 1_000);
        let nodes = std::slice::from_ref(lease);
        let (steady_since, missing_since) =
            seen.update(Some(2), Some(at(previous)), nodes, at(second));
        let lease_clock = LeaseClock::Database;
        Observation { now: at(second), mine: Some(2), steady_since, lease_clock, missing_since }
    }

    #[test]
    fn a_session_that_is_missing_for_a_while_frees_its_node_index_before_the_lease_expires() {
        let (seen, node_index) = (MissingSessions::default(), lease(115, true));
        let first = observe(&seen, &node_index, 97, 100);
        assert!(!first.is_free(&node_index), "it may be about to be established again");
        assert_eq!(first.recheck_ms(&node_index), Some(MISSING_SESSION_MS + RECHECK_MARGIN_MS));
        assert!(observe(&seen, &node_index, 100, 102).is_free(&node_index));
    }

    #[test]
    fn a_session_that_was_established_again_is_not_missing() {
        let seen = MissingSessions::default();
        observe(&seen, &lease(115, true), 97, 100);
        observe(&seen, &lease(115, false), 100, 101);
        let node_index = lease(115, true);
        assert!(!observe(&seen, &node_index, 101, 102).is_free(&node_index));
    }

    #[test]
    fn what_was_seen_in_an_earlier_session_does_not_count() {
        let (seen, node_index) = (MissingSessions::default(), lease(115, true));
        observe(&seen, &node_index, 97, 100);
        let now = Timestamp::from_millis(110_000);
        let (steady, missing) =
            seen.update(Some(3), Some(now), std::slice::from_ref(&node_index), now);
        assert_eq!((steady, missing.get(&1)), (now, Some(&now)));
    }

    #[test]
    fn an_expired_lease_counts_unless_the_database_stalled() {
        let (seen, node_index) = (MissingSessions::default(), lease(115, false));
        observe(&seen, &node_index, 108, 111);
        let before = observe(&seen, &node_index, 111, 114);
        assert!(!before.is_free(&node_index));
        // The next heartbeat comes when the lease expires.
        assert_eq!(before.recheck_ms(&node_index), Some(1_000 + RECHECK_MARGIN_MS));
        assert!(observe(&seen, &node_index, 114, 116).is_free(&node_index));
        // After a stall all leases have expired.
        let stalled = observe(&seen, &node_index, 116, 130);
        assert!(!stalled.is_free(&node_index));
        assert_eq!(stalled.recheck_ms(&node_index), Some(STALL_RECOVERY_MS + RECHECK_MARGIN_MS));
        assert!(!observe(&seen, &node_index, 130, 131).is_free(&node_index));
        assert!(observe(&seen, &node_index, 131, 134).is_free(&node_index));
    }

    #[test]
    fn a_process_that_starts_does_not_wait_for_what_was_left_long_ago() {
        let (seen, node_index) = (MissingSessions::default(), lease(115, true));
        let old = observe(&seen, &node_index, 128, 131);
        assert!(!old.is_free(&node_index));
        assert!(Observation { mine: None, ..old }.is_free(&node_index));
    }
}
