//! Seats: which processes share the store, and which of them may write.

use std::collections::BTreeSet;
use std::sync::Arc;

use meantime_core::Timestamp;
use meantime_kernel::store::{Company, Error, Seat};

use super::batch::{self, Slots};
use super::connection::{Call, Failure, values};
use super::options::SeatTime;
use super::pool::{Lent, Pool};
use super::{clock, lock};
use crate::row::Columns;

const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";
const LIST: &str = "SELECT number, holder, until_at FROM seat ORDER BY number";
const FREE: &str = "DELETE FROM seat WHERE holder = ANY ($1::bigint[])";
const SIT: &str = "INSERT INTO seat (number, holder, until_at) VALUES ($1, $2, $3) \
     ON CONFLICT (number) DO UPDATE SET holder = excluded.holder, until_at = excluded.until_at";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LOCK, LIST, FREE, SIT];

/// How long the rows of a process that is gone are kept, in milliseconds: somebody may still want
/// to know whether its last commit took effect.
const CLOSED_MS: i64 = 600_000;

/// A seat that is taken.
struct Taken {
    seat: Seat,
    holder: i64,
    until: Timestamp,
}

/// A sign of life: keeps the seat or takes one, and frees those of processes that are gone.
pub(super) async fn beat(
    pool: &Arc<Pool>,
    slots: &Slots,
    real: Timestamp,
    seat_time: SeatTime,
) -> Result<Company, Error> {
    let mut lent = pool.lend().await?;
    let begin = lent.begin();
    let lock = Call::new(LOCK, values![lock::SEATS]);
    // The time is the last thing that is read: waiting for the lock must not make it old.
    let answers = lent.run(&[begin, lock, Call::plain(LIST), clock::read()]).await?;
    let [_, _, list, time] = answers.as_slice() else {
        return Err(Error::Bug("a statement without an answer".to_owned()));
    };
    let database = time.first(|row| row.instant(0, "seat"))?;
    let time = database.filter(|_| seat_time == SeatTime::Database);
    let now = time.unwrap_or(real);
    let mut seats = list.read(|row| {
        let number = u8::try_from(row.integer(0)?).unwrap_or(Seat::COUNT);
        let (holder, until) = (row.integer(1)?, row.instant(2, "seat")?);
        Ok(Taken { seat: Seat(number), holder, until })
    })?;
    let mine = slots.holder();
    let gone = free_expired(&lent, &seats, mine, now).await?;
    seats.retain(|taken| !gone.contains(&taken.holder));
    let (holder, seat) = match seats.iter().find(|taken| Some(taken.holder) == mine) {
        Some(taken) => (taken.holder, taken.seat),
        None => (batch::register(&lent).await?, free_seat(&seats)?),
    };
    let until = now.saturating_add_millis(Seat::KEPT_MS);
    let number = i32::from(seat.0);
    let sit = Call::new(SIT, values![number, holder, until.as_millis()]);
    let fold = batch::fold(now.saturating_add_millis(-CLOSED_MS));
    lent.run(&[sit, fold]).await?;
    lent.commit().await?;
    slots.set_holder(Some(holder));
    let mut seats: BTreeSet<Seat> = seats.iter().map(|taken| taken.seat).collect();
    seats.insert(seat);
    let lasts_ms = Some(Seat::LASTS_MS);
    let sitting = u64::try_from(holder).ok();
    Ok(Company { seat, sitting, seats: seats.into_iter().collect(), lasts_ms, time })
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

/// Frees the seats of processes that gave no sign of life in time, unless a commit of theirs is
/// under way: then the next sign of life sees to it.
async fn free_expired(
    lent: &Lent,
    seats: &[Taken],
    mine: Option<i64>,
    now: Timestamp,
) -> Result<Vec<i64>, Failure> {
    let expired = |taken: &&Taken| Some(taken.holder) != mine && Seat::is_free(taken.until, now);
    let expired: Vec<i64> = seats.iter().filter(expired).map(|taken| taken.holder).collect();
    if expired.is_empty() {
        return Ok(expired);
    }
    let answers = lent.run(&[batch::lock(&expired)]).await?;
    let Some(answer) = answers.first() else { return Ok(Vec::new()) };
    let idle = batch::read_idle(answer)?;
    let free = Call::new(FREE, values![idle.clone()]);
    lent.run(&[batch::close(&idle, now), free]).await?;
    Ok(idle)
}

fn free_seat(taken: &[Taken]) -> Result<Seat, Error> {
    let is_free = |seat: &Seat| !taken.iter().any(|taken| taken.seat == *seat);
    let free = (0..Seat::COUNT).map(Seat).find(is_free);
    free.ok_or_else(|| Error::Unavailable("all seats are taken".to_owned()))
}
