//! What belongs to no process: the epoch, the pause of a restored store, and the highest time and
//! numbers.

use meantime_core::Timestamp;
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{Error, OperationKind, Recovered, next_epoch};

use super::connection::{Call, QueryAnswer, values};
use super::operation;
use super::pool::Pool;
use crate::row::Columns;
use std::sync::Arc;

const GET: &str = "SELECT n.epoch, greatest(n.clock_at, b.clock_at), coalesce(b.number, 0), \
     greatest(n.last_seq, b.last_seq), n.paused FROM node AS n, (SELECT max(clock_at) AS clock_at, \
     max(last_seq) AS last_seq, max(batch) FILTER (WHERE lease_term = $1) AS number FROM commit_row) AS b \
     WHERE n.id = 1";
const SET_EPOCH: &str = "UPDATE node SET epoch = $1, paused = true WHERE id = 1";
const RESUME: &str = "UPDATE node SET paused = false WHERE id = 1";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, SET_EPOCH, RESUME];

/// Reads the highest time and numbers, of one process and of all together.
pub(super) fn get(lease_term: Option<i64>) -> Call<'static> {
    Call::new(GET, values![lease_term.unwrap_or_default()])
}

pub(super) fn read(answer: &QueryAnswer) -> Result<Recovered, Error> {
    let node = answer.first(|row| {
        Ok(Recovered {
            epoch: row.count(0, "node")?,
            clock: row.instant(1, "node")?,
            batch: row.number(2)?,
            seq: row.number(3)?,
            paused: row.flag(4)?,
            ..Recovered::default()
        })
    })?;
    node.ok_or_else(|| Error::Corrupt("the row of `node` is missing".to_owned()))
}

/// Marks this database as restored: a new epoch, and paused. Returns the epoch.
pub(super) async fn pause(
    pool: &Arc<Pool>,
    kind: OperationKind,
    now: Timestamp,
    audit: &AuditInfo,
) -> Result<u32, Error> {
    let mut pooled = pool.acquire().await?;
    let begin = pooled.begin();
    let answers = pooled.run(&[begin, get(None)]).await?;
    let Some(answer) = answers.last() else { return Ok(0) };
    let epoch = next_epoch(read(answer)?.epoch, now);
    let set = Call::new(SET_EPOCH, values![i64::from(epoch)]);
    pooled.run(&[set, operation::add(kind, now, audit)]).await?;
    pooled.commit().await?;
    Ok(epoch)
}

/// Resumes a restored store.
pub(super) fn resume() -> Call<'static> {
    Call::plain(RESUME)
}
