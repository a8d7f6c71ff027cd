//! The ledger of schedules: the outcome of every occurrence.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{InstanceId, OccurrenceOutcome, Timestamp};
use meantime_kernel::store::{Error, OccurrenceKey, OccurrenceRow, Page};

use super::connection::{Call, Connection, QueryAnswer, QueryError, arrays, values};
use super::text::text;
use crate::row::occurrence::{columns, read};
use crate::row::{Columns, id_order, id_random, int};

const PUT: &str = concat!(
    "INSERT INTO occurrence (",
    columns!(),
    ", is_start) SELECT *, n.outcome = 'started' FROM unnest($1::bigint[], $2::bigint[], \
     $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::bigint[], \
     $9::bigint[], $10::bigint[]) AS n (",
    columns!(),
    ") ON CONFLICT (id_order, scheduled_at, is_start) DO UPDATE SET id_random = \
         excluded.id_random, \
     last_at = excluded.last_at, count = excluded.count, outcome = excluded.outcome, \
     reason = excluded.reason, run_id_order = excluded.run_id_order, run_id_random = \
     excluded.run_id_random, \
     decided_at = excluded.decided_at"
);
const TAKEN: &str = "SELECT o.id_order, o.scheduled_at FROM unnest($1::bigint[], $2::bigint[]) \
     AS k (id_order, scheduled_at) CROSS JOIN LATERAL (SELECT id_order, scheduled_at FROM \
     occurrence \
     WHERE id_order = k.id_order AND scheduled_at = k.scheduled_at AND is_start OFFSET 0) AS o";
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM occurrence WHERE id_order = $1 AND (scheduled_at, is_start) < ($2, $3) \
     ORDER BY scheduled_at DESC, is_start DESC LIMIT $4"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PUT, TAKEN, LIST];

/// The changes of a plan to ledgers; the last change of each row counts.
#[derive(Default)]
pub(super) struct Changes<'a>(BTreeMap<(InstanceId, Timestamp, bool), &'a OccurrenceRow>);

impl<'a> Changes<'a> {
    pub(super) fn put(&mut self, row: &'a OccurrenceRow) {
        let is_start = row.occurrence.outcome == OccurrenceOutcome::Started;
        self.0.insert((row.schedule, row.occurrence.scheduled_at, is_start), row);
    }

    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        let rows: Vec<&OccurrenceRow> = self.0.values().copied().collect();
        let params = arrays!(rows, |row| [
            id_order(row.schedule),
            id_random(row.schedule),
            row.occurrence.scheduled_at.as_millis(),
            row.occurrence.last_at.as_millis(),
            int(row.occurrence.count),
            row.occurrence.outcome.name(),
            text(&row.occurrence.reason),
            row.instance.map(id_order),
            row.instance.map(id_random),
            row.decided_at.as_millis(),
        ]);
        if !rows.is_empty() {
            calls.push(Call::new(PUT, params));
        }
    }
}

/// Which of the occurrences have had their run.
pub(super) fn taken(occurrences: &BTreeSet<(InstanceId, Timestamp)>) -> Call<'static> {
    let occurrences: Vec<_> = occurrences.iter().collect();
    Call::new(
        TAKEN,
        arrays!(occurrences, |scheduled_at| [id_order(scheduled_at.0), scheduled_at.1.as_millis()]),
    )
}

pub(super) fn read_taken(
    answer: &QueryAnswer,
    occurrences: &BTreeSet<(InstanceId, Timestamp)>,
) -> Result<BTreeSet<(InstanceId, Timestamp)>, Error> {
    let found = answer.read(|row| Ok((row.integer(0)?, row.integer(1)?)))?;
    let found: BTreeSet<(i64, i64)> = found.into_iter().collect();
    let is_taken = |(schedule, scheduled_at): &&(InstanceId, Timestamp)| {
        found.contains(&(id_order(*schedule), scheduled_at.as_millis()))
    };
    Ok(occurrences.iter().filter(is_taken).copied().collect())
}

/// A page of the ledger, newest occurrence first.
pub(super) async fn list(
    connection: &Connection,
    schedule: InstanceId,
    page: Page<OccurrenceKey>,
) -> Result<Vec<OccurrenceRow>, QueryError> {
    let (before, is_start) = page
        .after
        .map_or((i64::MAX, true), |after| (after.scheduled_at.as_millis(), after.is_start));
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
    let found = connection.one(LIST, values![id_order(schedule), before, is_start, limit]).await?;
    Ok(found.read(read)?)
}
