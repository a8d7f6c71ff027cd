//! The ledger of schedules: the outcome of every occurrence.

use meantime_core::{InstanceId, Occurrence, Timestamp};
use meantime_kernel::store::{Error, OccurrenceKey, OccurrenceRow, Page};
use rusqlite::params;

use super::db::Db;
use crate::row::occurrence::{columns, read};
use crate::row::{id_order, id_random, int};

const PUT: &str = "INSERT OR REPLACE INTO occurrence (id_order, scheduled_at, id_random, last_at, \
     count, \
     outcome, reason, run_id_order, run_id_random, decided_at, is_start) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?6 = 'started')";
const IS_TAKEN: &str =
    "SELECT 1 FROM occurrence WHERE id_order = ?1 AND scheduled_at = ?2 AND is_start = 1";
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM occurrence WHERE id_order = ?1 AND (scheduled_at, is_start) < (?2, ?3) \
     ORDER BY scheduled_at DESC, is_start DESC"
);

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, IS_TAKEN, LIST];

pub(super) fn put(db: &Db<'_>, row: &OccurrenceRow) -> Result<(), Error> {
    let Occurrence { scheduled_at, last_at, count, outcome, reason } = &row.occurrence;
    db.run(
        PUT,
        params![
            id_order(row.schedule),
            scheduled_at.as_millis(),
            id_random(row.schedule),
            last_at.as_millis(),
            int(*count),
            outcome.name(),
            reason,
            row.instance.map(id_order),
            row.instance.map(id_random),
            row.decided_at.as_millis(),
        ],
    )
    .map(drop)
}

/// Whether an occurrence has had its run.
pub(super) fn is_taken(
    db: &Db<'_>,
    schedule: InstanceId,
    scheduled_at: Timestamp,
) -> Result<bool, Error> {
    Ok(db
        .first(IS_TAKEN, params![id_order(schedule), scheduled_at.as_millis()], |_| Ok(()))?
        .is_some())
}

/// A page of the ledger, newest occurrence first.
pub(super) fn list(
    db: &Db<'_>,
    schedule: InstanceId,
    page: Page<OccurrenceKey>,
) -> Result<Vec<OccurrenceRow>, Error> {
    let (before, is_start) = page
        .after
        .map_or((i64::MAX, true), |after| (after.scheduled_at.as_millis(), after.is_start));
    let values = params![id_order(schedule), before, is_start];
    db.some(LIST, values, page.limit, |row| read(row).map(Some))
}
