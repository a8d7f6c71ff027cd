//! Compacts a long history, in steps that each leave a complete list.

use std::collections::{BTreeSet, VecDeque};

use meantime_core::InstanceId;
use meantime_kernel::compaction::{Step, compact};
use meantime_kernel::history::pack;
use meantime_kernel::open::Open;
use meantime_kernel::store::{CompactRequest, Error};
use rusqlite::params;

use super::db::Db;
use super::{history, instance};
use crate::row::{Columns, int};

const LINK: &str = "SELECT previous FROM history WHERE seq = ?1";
const RELINK: &str = "UPDATE history SET previous = ?2 WHERE seq = ?1";
const REPLACE: &str = "UPDATE history SET happened_at = ?2, previous = ?3, records = ?4 \
     WHERE seq = ?1";
const DELETE: &str = "DELETE FROM history WHERE seq = ?1";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[LINK, RELINK, REPLACE, DELETE];

/// The rows to compact: their numbers between the first and the newest rows, oldest first.
pub(super) struct Cut {
    first: u64,
    rows: VecDeque<u64>,
    /// How many of them were examined before and stay for now.
    carried: usize,
    /// The oldest of the newest rows.
    after: u64,
}

/// Finds the rows to compact, on a read-only connection: old rows do not change.
pub(super) fn find(db: &Db<'_>, request: &CompactRequest) -> Result<Option<Cut>, Error> {
    let Some(row) = instance::get(db, request.instance)? else { return Ok(None) };
    let keep = request.keep.max(1);
    let mut number = row.last_history;
    let (mut newest, mut after) = (0, 0);
    let mut rows = VecDeque::new();
    while number != 0
        && let Some(previous) = db.first(LINK, [int(number)], |row| row.number(0))?
    {
        if newest < keep {
            (newest, after) = (newest + 1, number);
        } else {
            rows.push_front(number);
        }
        number = previous;
    }
    Ok(rows.pop_front().map(|first| Cut { first, rows, carried: 0, after }))
}

/// Compacts the oldest rows, about as many as the limit allows; returns how many were removed, and
/// the rest, if any.
pub(super) fn step(
    db: &Db<'_>,
    instance: InstanceId,
    mut cut: Cut,
    limit: usize,
) -> Result<(usize, Option<Cut>), Error> {
    let take = cut.rows.len().min(cut.carried.saturating_add(limit.max(1)));
    let run: Vec<u64> = cut.rows.drain(..take).collect();
    let after = cut.rows.front().copied().unwrap_or(cut.after);
    // Timers may have fired since, so the open list is read here and not before.
    let open = instance::get(db, instance)?.map_or_else(Open::default, |row| row.open);
    let mut rows = Vec::with_capacity(run.len());
    for number in &run {
        rows.extend(history::chain(db, *number, 1)?);
    }
    let mut dropped: BTreeSet<u64> = BTreeSet::new();
    if let Some(step) = compact(cut.first, &rows, after, &open) {
        dropped.extend(&step.dropped);
        write(db, &step)?;
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

fn write(db: &Db<'_>, step: &Step) -> Result<(), Error> {
    for (number, previous) in &step.relinked {
        db.run(RELINK, params![int(*number), int(*previous)])?;
    }
    for number in &step.dropped {
        db.run(DELETE, [int(*number)])?;
    }
    let summary = &step.summary;
    let (at, previous) = (summary.at.as_millis(), int(summary.previous));
    let records = pack(&summary.records);
    db.run(REPLACE, params![int(summary.seq), at, previous, records]).map(drop)
}
