//! Compacts a long history, in steps that each leave a complete list.

use std::collections::{BTreeSet, VecDeque};

use meantime_core::InstanceId;
use meantime_kernel::compaction::{Step, compact};
use meantime_kernel::history::pack;
use meantime_kernel::store::CompactRequest;

use super::connection::{Call, Connection, QueryError, arrays, values};
use super::instance;
use crate::row::history::{columns, read};
use crate::row::{Columns, int};

const LINKS: &str = "WITH RECURSIVE h (seq, previous, position) AS (SELECT n.seq, n.previous, \
     1::bigint FROM history AS n WHERE n.seq = $1 UNION ALL SELECT n.seq, n.previous, h.position + 1 \
     FROM h CROSS JOIN LATERAL (SELECT seq, previous FROM history WHERE seq = h.previous OFFSET 0) \
     AS n) SELECT seq FROM h ORDER BY position DESC";
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM unnest($1::bigint[]) WITH ORDINALITY AS k (seq, position) CROSS JOIN LATERAL \
     (SELECT * FROM history WHERE seq = k.seq OFFSET 0) AS h ORDER BY k.position"
);
const RELINK: &str = "UPDATE history AS h SET previous = n.previous \
     FROM (SELECT *, (SELECT ctid FROM history AS h WHERE h.seq = u.seq) AS row_id \
     FROM unnest($1::bigint[], $2::bigint[]) AS u (seq, previous)) AS n WHERE h.ctid = n.row_id";
const REPLACE: &str = "UPDATE history SET happened_at = $2, previous = $3, records = $4 \
     WHERE seq = $1";
const DELETE: &str = "DELETE FROM history WHERE seq = ANY ($1::bigint[])";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LINKS, GET, RELINK, REPLACE, DELETE];

/// The rows to compact: their numbers between the first and the newest rows, oldest first.
pub(super) struct Cut {
    first: u64,
    rows: VecDeque<u64>,
    /// How many of them were examined before and stay for now.
    carried: usize,
    /// The oldest of the newest rows.
    after: u64,
}

/// Finds the rows to compact. Old rows do not change.
pub(super) async fn find(
    connection: &Connection,
    request: &CompactRequest,
) -> Result<Option<Cut>, QueryError> {
    let Some(row) = instance::get(connection, request.instance).await? else { return Ok(None) };
    let found = connection.one(LINKS, values![int(row.last_history)]).await?;
    let mut rows: VecDeque<u64> = found.read(|row| row.number(0))?.into();
    let newest = rows.split_off(rows.len().saturating_sub(request.keep.max(1)));
    let after = newest.front().copied().unwrap_or_default();
    Ok(rows.pop_front().map(|first| Cut { first, rows, carried: 0, after }))
}

/// Compacts the oldest rows, about as many as the limit allows; returns how many were removed, and
/// the rest, if any.
pub(super) async fn step(
    connection: &Connection,
    instance: InstanceId,
    mut cut: Cut,
    limit: usize,
) -> Result<(usize, Option<Cut>), QueryError> {
    let take = cut.rows.len().min(cut.carried.saturating_add(limit.max(1)));
    let run: Vec<u64> = cut.rows.drain(..take).collect();
    let after = cut.rows.front().copied().unwrap_or(cut.after);
    // Timers may have fired since, so the open list is read here and not before. The row stays
    // locked: no turn arms or fires a timer of this instance meanwhile.
    let locked = connection.run(&[instance::lock_and_fetch(&[instance])]).await?;
    let owner = locked.first().map(instance::read_rows).transpose()?.unwrap_or_default().pop();
    // A turn has locked it. Its history is long, so the next compaction does the work.
    let Some(open) = owner.map(|row| row.open) else { return Ok((0, None)) };
    let numbers: Vec<i64> = run.iter().copied().map(int).collect();
    let rows = connection.one(GET, values![numbers]).await?.read(read)?;
    let mut dropped: BTreeSet<u64> = BTreeSet::new();
    if let Some(step) = compact(cut.first, &rows, after, &open) {
        dropped.extend(&step.dropped);
        write(connection, &step).await?;
    }
    let count = dropped.len();
    if cut.rows.is_empty() {
        return Ok((count, None));
    }
    // The summary, and every row that stays, is part of the next step.
    let carried: Vec<u64> = run.into_iter().filter(|number| !dropped.contains(number)).collect();
    cut.carried = carried.len();
    carried.into_iter().rev().for_each(|number| cut.rows.push_front(number));
    Ok((count, Some(cut)))
}

async fn write(connection: &Connection, step: &Step) -> Result<(), QueryError> {
    let relinked = arrays!(step.relinked, |link| [int(link.0), int(link.1)]);
    let dropped: Vec<i64> = step.dropped.iter().copied().map(int).collect();
    let summary = &step.summary;
    let (at, previous) = (summary.at.as_millis(), int(summary.previous));
    let replaced = values![int(summary.seq), at, previous, pack(&summary.records)];
    let calls = [
        Call::new(RELINK, relinked),
        Call::new(DELETE, values![dropped]),
        Call::new(REPLACE, replaced),
    ];
    connection.run(&calls).await.map(drop)
}
