//! Finds expired instances, on a read-only connection.

use meantime_core::Timestamp;
use meantime_kernel::store::{Error, PurgeRequest, RetentionDecision};

use super::db::Db;
use crate::row::Columns;
use crate::sweep::{Candidate, RANGE_ROWS, Range, Sweep, candidate_columns, is_root};

const RANGE: &str = concat!(
    "SELECT ",
    candidate_columns!(),
    " FROM instance AS i WHERE i.id_order > ?1 AND i.id_order <= ?2 ORDER BY i.id_order LIMIT ?3"
);
const NEXT: &str = "SELECT id_order FROM instance WHERE id_order > ?1 ORDER BY id_order LIMIT 1";
const CHILDREN: &str = "SELECT id_order, id_random, ended_at IS NULL, meta FROM instance \
     WHERE parent_id_order = ?1";
const OPEN_TASK: &str = "SELECT 1 FROM task WHERE id_order = ?1 AND state <> 'done'";
const EVENT: &str = "SELECT 1 FROM inbox WHERE id_order = ?1";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[RANGE, NEXT, CHILDREN, OPEN_TASK, EVENT];

/// Fills the list of instances to delete, up to the limit and a bounded number of ranges.
pub(super) fn find_expired(
    db: &Db<'_>,
    sweep: &mut Sweep,
    request: &PurgeRequest,
) -> Result<(), Error> {
    sweep.begin(request);
    for _ in 0..Sweep::looks(request) {
        let Some(range) = sweep.next_range(request) else { break };
        look(db, sweep, range, request)?;
    }
    Ok(())
}

/// When the next instance expires.
pub(super) fn next(
    db: &Db<'_>,
    sweep: &Sweep,
    request: &PurgeRequest,
) -> Result<Option<Timestamp>, Error> {
    let next = db.first(NEXT, [sweep.position()], |row| row.integer(0))?;
    Ok(sweep.next(next, request))
}

fn look(db: &Db<'_>, sweep: &mut Sweep, range: Range, request: &PurgeRequest) -> Result<(), Error> {
    let limits = [range.from, range.to, RANGE_ROWS];
    let rows = db.all(RANGE, limits, |row| Candidate::read(row))?;
    let mut again: Option<Timestamp> = None;
    for row in &rows {
        let at = match row.decide_retention(request) {
            RetentionDecision::Delete { or_check_at: at } => match tree(db, row.id_order)? {
                Some(members) => {
                    sweep.doomed.extend(members);
                    continue;
                }
                None => at,
            },
            RetentionDecision::CheckAt(at) => at,
            RetentionDecision::Keep => continue,
        };
        again = again.into_iter().chain([at]).min();
    }
    sweep.looked(range, &rows, again);
    Ok(())
}

/// All members of a tree, descendants first; `None` if one of them cannot be deleted.
fn tree(db: &Db<'_>, root: i64) -> Result<Option<Vec<i64>>, Error> {
    let mut members = Vec::new();
    let mut next = vec![root];
    while let Some(id_order) = next.pop() {
        let is_busy = db.first(OPEN_TASK, [id_order], |_| Ok(()))?.is_some()
            || db.first(EVENT, [id_order], |_| Ok(()))?.is_some();
        let children = db.some(CHILDREN, [id_order], usize::MAX, |row| {
            let child = (row.integer(0)?, row.flag(2)?);
            Ok((!is_root(row, 0, 1, 3)?).then_some(child))
        })?;
        if is_busy || children.iter().any(|(_, is_live)| *is_live) {
            return Ok(None);
        }
        members.push(id_order);
        next.extend(children.into_iter().map(|(id_order, _)| id_order));
    }
    members.reverse();
    Ok(Some(members))
}
