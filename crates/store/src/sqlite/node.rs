//! The one row that every commit rewrites: clock, last batch, largest number in use.

use std::collections::BTreeSet;

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{Error, OperationKind, Recovered, next_epoch};
use rusqlite::params;

use super::db::Db;
use super::{inbox, instance, instance_count, operation, task};
use crate::row::instance_count::Counts;
use crate::row::{Columns, int};

const GET: &str = "SELECT epoch, clock_at, last_batch, last_seq, paused FROM node WHERE id = 1";
const ADVANCE: &str = "UPDATE node SET clock_at = max(clock_at, ?1), \
     last_batch = max(last_batch, ?2), last_seq = max(last_seq, ?3) WHERE id = 1";

/// The same with the changes of counts, in one statement.
const ADVANCE_AND_COUNT: &str = "UPDATE node SET clock_at = max(clock_at, ?1), \
     last_batch = max(last_batch, ?2), last_seq = max(last_seq, ?3), counts = ?4 WHERE id = 1";

const SET_EPOCH: &str = "UPDATE node SET epoch = ?1, paused = 1 WHERE id = 1";
const RESUME: &str = "UPDATE node SET paused = 0 WHERE id = 1";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[GET, ADVANCE, ADVANCE_AND_COUNT, SET_EPOCH, RESUME];

/// What a transaction adds to the row.
#[derive(Debug, Clone, Default)]
pub(super) struct Mark {
    /// The time of the latest plan.
    pub(super) clock: Timestamp,
    /// The number of the latest plan.
    pub(super) batch: u64,
    /// The largest sequence number that was written.
    pub(super) seq: u64,
    /// Instances that were started or ended.
    pub(super) counts: Counts,
}

impl Mark {
    /// Records a sequence number that is written.
    pub(super) fn note(&mut self, seq: u64) {
        self.seq = self.seq.max(seq);
    }
}

pub(super) fn advance(db: &Db<'_>, mark: &Mark) -> Result<(), Error> {
    let (clock, batch, seq) = (mark.clock.as_millis(), int(mark.batch), int(mark.seq));
    let done = match instance_count::gather(db, &mark.counts)? {
        Some(counts) => db.run(ADVANCE_AND_COUNT, params![clock, batch, seq, counts]),
        None => db.run(ADVANCE, params![clock, batch, seq]),
    };
    done.map(drop)
}

/// Marks this file as restored: a new epoch, and paused. Returns the epoch.
pub(super) fn pause(
    db: &Db<'_>,
    kind: OperationKind,
    now: Timestamp,
    audit: &AuditInfo,
) -> Result<u32, Error> {
    let epoch = next_epoch(read(db)?.epoch, now);
    db.run(SET_EPOCH, [epoch])?;
    operation::add(db, kind, now, audit)?;
    Ok(epoch)
}

/// Resumes a restored store.
pub(super) fn resume(db: &Db<'_>, at: Timestamp, audit: &AuditInfo) -> Result<(), Error> {
    db.run(RESUME, [])?;
    operation::add(db, OperationKind::Resumed, at, audit)
}

pub(super) fn last_batch(db: &Db<'_>) -> Result<u64, Error> {
    Ok(read(db)?.batch)
}

/// What a node needs to continue.
pub(super) fn recover(db: &Db<'_>) -> Result<Recovered, Error> {
    let node = read(db)?;
    let mut ready: BTreeSet<InstanceId> = inbox::owners(db)?.into_iter().collect();
    ready.extend(instance::unfinished(db)?);
    let mut tasks = task::waiting(db, node.clock)?;
    tasks.sort_by_key(|task| task.id);
    Ok(Recovered { ready: ready.into_iter().collect(), tasks, ..node })
}

fn read(db: &Db<'_>) -> Result<Recovered, Error> {
    let node = db.first(GET, [], |row| {
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
