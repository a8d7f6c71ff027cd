//! Seats: which processes share the store, and which of them may write.
//!
//! ```text
//!   heartbeat ─► a session lock is missing for `MISSING_SESSION_MS` ───────────► the seat is freed
//!           └──► a lease expired, and this node has sent heartbeats all along ─► the seat is freed
//! ```
//!
//! The server releases the lock of a session when its process ends, so a killed process is noticed
//! before its lease expires. A missing session may also be about to be established again, after a
//! restart of the server or a broken connection, so it is given some time. After a stall of the
//! database all leases may have expired: a node that could not send heartbeats itself waits before
//! it frees seats whose sessions are still there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::Timestamp;
use meantime_kernel::store::{Company, Error, Seat};

use super::batch::{self, Slots};
use super::connection::{Call, Failure, values};
use super::core::Core;
use super::options::SeatTime;
use super::pool::{Lent, Pool};
use super::{clock, lock};
use crate::row::Columns;

/// A process that stops in the middle of its sign of life must not keep others from theirs.
const SHORT_IDLE_TIMEOUT: &str = "SET LOCAL idle_in_transaction_session_timeout = 2000";
const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";
const LIST: &str = "SELECT number, holder, until_at, session, \
     session IS NOT NULL AND pg_try_advisory_xact_lock(session) FROM seat ORDER BY number";
const FREE: &str = "DELETE FROM seat WHERE holder = ANY ($1::bigint[])";
const SIT: &str = "INSERT INTO seat (number, holder, until_at, session) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (number) DO UPDATE SET holder = excluded.holder, until_at = excluded.until_at, \
     session = excluded.session";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LOCK, LIST, FREE, SIT];

/// How long the rows of a process that is gone are kept, in milliseconds: somebody may still want
/// to know whether its last commit took effect.
const CLOSED_MS: i64 = 600_000;

/// How long a session must be gone before its process is, in milliseconds.
const MISSING_SESSION_MS: i64 = 1_500;

/// A longer gap between two heartbeats of this node means that it, or the database, stalled.
const STALL_MS: i64 = 6_000;

/// How long after a stall expired leases of others are left alone, in milliseconds.
const SETTLE_MS: i64 = 3_000;

/// How much later than due a seat is checked again, in milliseconds.
const RECHECK_MARGIN_MS: i64 = 100;

/// A seat that is taken.
struct Taken {
    seat: Seat,
    holder: i64,
    until: Timestamp,
    session: Option<i64>,
    /// Nobody holds the lock of its session.
    is_gone: bool,
}

/// What earlier heartbeats have seen: since when sessions are missing.
#[derive(Default)]
pub(super) struct MissingSessions(Mutex<Missing>);

#[derive(Default)]
struct Missing {
    /// The session of this process. When it was established again, nothing seen before counts.
    session: Option<i64>,
    /// The first heartbeat after the latest stall.
    steady_since: Timestamp,
    gone: BTreeMap<(i64, i64), Timestamp>,
}

impl MissingSessions {
    /// Since when there was no stall, and since when the sessions of seats are missing.
    fn update(
        &self,
        session: Option<i64>,
        previous_heartbeat: Option<Timestamp>,
        seats: &[Taken],
        now: Timestamp,
    ) -> (Timestamp, BTreeMap<i64, Timestamp>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gap = previous_heartbeat.map(|at| now.saturating_since(at));
        if seen.session != session {
            *seen = Missing { session, steady_since: now, gone: BTreeMap::new() };
        } else if gap.is_none_or(|gap| !(0..=STALL_MS).contains(&gap)) {
            seen.steady_since = now;
        }
        let gone = seats.iter().filter(|taken| taken.is_gone);
        let gone = gone.filter_map(|taken| Some((taken.holder, taken.session?)));
        let known = std::mem::take(&mut seen.gone);
        let since = |key: &(i64, i64)| known.get(key).copied().unwrap_or(now).min(now);
        seen.gone = gone.map(|key| (key, since(&key))).collect();
        let missing = seen.gone.iter().map(|((holder, _), since)| (*holder, *since));
        (seen.steady_since, missing.collect())
    }
}

/// The seats as one heartbeat sees them.
struct Observation {
    now: Timestamp,
    mine: Option<i64>,
    steady_since: Timestamp,
    seat_time: SeatTime,
    missing_since: BTreeMap<i64, Timestamp>,
}

impl Observation {
    /// Whether the process of a seat is gone.
    fn is_free(&self, taken: &Taken) -> bool {
        let is_over = Seat::is_free(taken.until, self.now);
        if self.seat_time == SeatTime::Caller || taken.session.is_none() {
            return is_over;
        }
        match self.missing_since.get(&taken.holder) {
            Some(since) => {
                // A process that starts finds what was left by others long ago.
                let long_ago = taken.until.saturating_add_millis(Seat::KEPT_MS) < self.now;
                (long_ago && self.mine.is_none())
                    || self.now.saturating_since(*since) >= MISSING_SESSION_MS
            }
            None => is_over && self.now.saturating_since(self.steady_since) >= SETTLE_MS,
        }
    }

    /// When a seat may be free, in milliseconds from now.
    fn recheck_ms(&self, taken: &Taken) -> Option<i64> {
        if self.seat_time == SeatTime::Caller || Some(taken.holder) == self.mine {
            return None;
        }
        let settled = self.steady_since.saturating_add_millis(SETTLE_MS);
        let left = taken.until.max(settled).saturating_since(self.now);
        let gone = self.missing_since.get(&taken.holder);
        let gone = gone.map(|since| MISSING_SESSION_MS - self.now.saturating_since(*since));
        let ms = gone.map_or(left, |gone| gone.min(left));
        Some(ms.max(0).saturating_add(RECHECK_MARGIN_MS))
    }
}

/// A sign of life: keeps the seat or takes one, and frees those of processes that are gone.
pub(super) async fn beat(core: &Core, real: Timestamp) -> Result<Company, Error> {
    let (slots, seat_time) = (&core.committer.slots, core.options.seat_time);
    let session = core.monitor.session();
    let mut lent = core.writers.lend().await?;
    let begin = lent.begin();
    let lock = Call::new(LOCK, values![lock::SEATS]);
    // The time is the last thing that is read: waiting for the lock must not make it old.
    let calls = [begin, Call::plain(SHORT_IDLE_TIMEOUT), lock, Call::plain(LIST), clock::read()];
    let answers = lent.run(&calls).await?;
    let [.., list, time] = answers.as_slice() else {
        return Err(Error::Bug("a statement without an answer".to_owned()));
    };
    let database = time.first(|row| row.instant(0, "seat"))?;
    let time = database.filter(|_| seat_time == SeatTime::Database);
    let now = time.unwrap_or(real);
    let mut seats = list.read(|row| {
        let number = u8::try_from(row.integer(0)?).unwrap_or(Seat::COUNT);
        let (holder, until) = (row.integer(1)?, row.instant(2, "seat")?);
        let (session, is_gone) = (row.integer_if(3)?, row.flag(4)?);
        Ok(Taken { seat: Seat(number), holder, until, session, is_gone })
    })?;
    let mine = slots.holder();
    let before = seats.iter().find(|taken| Some(taken.holder) == mine);
    let previous = before.map(|it| it.until.saturating_add_millis(-Seat::KEPT_MS));
    let (steady_since, missing_since) =
        core.missing_sessions.update(session, previous, &seats, now);
    let observation = Observation { now, mine, steady_since, seat_time, missing_since };
    let gone = free_expired(&lent, &seats, &observation).await?;
    seats.retain(|taken| !gone.contains(&taken.holder));
    let recheck_ms = seats.iter().filter_map(|taken| observation.recheck_ms(taken)).min();
    let (holder, seat) = match seats.iter().find(|taken| Some(taken.holder) == mine) {
        Some(taken) => (taken.holder, taken.seat),
        None => (batch::register(&lent).await?, free_seat(&seats)?),
    };
    let until = now.saturating_add_millis(Seat::KEPT_MS);
    let number = i32::from(seat.0);
    let sit = Call::new(SIT, values![number, holder, until.as_millis(), session]);
    let fold = batch::fold(now.saturating_add_millis(-CLOSED_MS));
    lent.run(&[sit, fold]).await?;
    lent.commit().await?;
    slots.set_holder(Some(holder));
    let mut seats: BTreeSet<Seat> = seats.iter().map(|taken| taken.seat).collect();
    seats.insert(seat);
    let lasts_ms = Some(Seat::LASTS_MS);
    let sitting = u64::try_from(holder).ok();
    Ok(Company { seat, sitting, seats: seats.into_iter().collect(), lasts_ms, time, recheck_ms })
}

/// Gives the seat up. What is under way is not decided by that.
pub(super) async fn leave(pool: &Arc<Pool>, slots: &Slots) -> Result<(), Error> {
    let Some(holder) = slots.holder() else { return Ok(()) };
    let mut lent = pool.lend().await?;
    let begin = lent.begin();
    let lock = Call::new(LOCK, values![lock::SEATS]);
    let close = batch::close(&[holder], Timestamp::default());
    let free = Call::new(FREE, values![vec![holder]]);
    lent.run(&[begin, lock, close, free]).await?;
    lent.commit().await?;
    slots.set_holder(None);
    Ok(())
}

/// Frees the seats of processes that are gone, unless a commit of theirs is under way: then the
/// next sign of life sees to it.
async fn free_expired(
    lent: &Lent,
    seats: &[Taken],
    observation: &Observation,
) -> Result<Vec<i64>, Failure> {
    let is_gone =
        |taken: &&Taken| Some(taken.holder) != observation.mine && observation.is_free(taken);
    let gone: Vec<i64> = seats.iter().filter(is_gone).map(|taken| taken.holder).collect();
    if gone.is_empty() {
        return Ok(gone);
    }
    let answers = lent.run(&[batch::lock(&gone)]).await?;
    let Some(answer) = answers.first() else { return Ok(Vec::new()) };
    let idle = batch::read_idle(answer)?;
    let free = Call::new(FREE, values![idle.clone()]);
    lent.run(&[batch::close(&idle, observation.now), free]).await?;
    Ok(idle)
}

fn free_seat(taken: &[Taken]) -> Result<Seat, Error> {
    let is_free = |seat: &Seat| !taken.iter().any(|taken| taken.seat == *seat);
    let free = (0..Seat::COUNT).map(Seat).find(is_free);
    free.ok_or_else(|| Error::Unavailable("all seats are taken".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(until_s: i64, is_gone: bool) -> Taken {
        let until = Timestamp::from_millis(until_s * 1_000);
        Taken { seat: Seat(1), holder: 1, until, session: Some(7), is_gone }
    }

    /// A heartbeat at a second, after one at another, by a node that has seen something before.
    fn observe(seen: &MissingSessions, taken: &Taken, previous: i64, second: i64) -> Observation {
        let at = |second: i64| Timestamp::from_millis(second * 1_000);
        let seats = std::slice::from_ref(taken);
        let (steady_since, missing_since) =
            seen.update(Some(2), Some(at(previous)), seats, at(second));
        let seat_time = SeatTime::Database;
        Observation { now: at(second), mine: Some(2), steady_since, seat_time, missing_since }
    }

    #[test]
    fn a_session_that_is_missing_for_a_while_frees_its_seat_before_the_lease_expires() {
        let (seen, seat) = (MissingSessions::default(), taken(115, true));
        let first = observe(&seen, &seat, 97, 100);
        assert!(!first.is_free(&seat), "it may be about to be established again");
        assert_eq!(first.recheck_ms(&seat), Some(MISSING_SESSION_MS + RECHECK_MARGIN_MS));
        assert!(observe(&seen, &seat, 100, 102).is_free(&seat));
    }

    #[test]
    fn a_session_that_was_established_again_is_not_missing() {
        let seen = MissingSessions::default();
        observe(&seen, &taken(115, true), 97, 100);
        observe(&seen, &taken(115, false), 100, 101);
        let seat = taken(115, true);
        assert!(!observe(&seen, &seat, 101, 102).is_free(&seat));
    }

    #[test]
    fn what_was_seen_in_an_earlier_session_does_not_count() {
        let (seen, seat) = (MissingSessions::default(), taken(115, true));
        observe(&seen, &seat, 97, 100);
        let now = Timestamp::from_millis(110_000);
        let (steady, missing) = seen.update(Some(3), Some(now), std::slice::from_ref(&seat), now);
        assert_eq!((steady, missing.get(&1)), (now, Some(&now)));
    }

    #[test]
    fn an_expired_lease_counts_unless_the_database_stalled() {
        let (seen, seat) = (MissingSessions::default(), taken(115, false));
        observe(&seen, &seat, 108, 111);
        let before = observe(&seen, &seat, 111, 114);
        assert!(!before.is_free(&seat));
        // The next heartbeat comes when the lease expires.
        assert_eq!(before.recheck_ms(&seat), Some(1_000 + RECHECK_MARGIN_MS));
        assert!(observe(&seen, &seat, 114, 116).is_free(&seat));
        // After a stall everybody's lease has expired.
        let stalled = observe(&seen, &seat, 116, 130);
        assert!(!stalled.is_free(&seat));
        assert_eq!(stalled.recheck_ms(&seat), Some(SETTLE_MS + RECHECK_MARGIN_MS));
        assert!(!observe(&seen, &seat, 130, 131).is_free(&seat));
        assert!(observe(&seen, &seat, 131, 134).is_free(&seat));
    }

    #[test]
    fn a_process_that_starts_does_not_wait_for_what_was_left_long_ago() {
        let (seen, seat) = (MissingSessions::default(), taken(115, true));
        let old = observe(&seen, &seat, 128, 131);
        assert!(!old.is_free(&seat));
        assert!(Observation { mine: None, ..old }.is_free(&seat));
    }
}
