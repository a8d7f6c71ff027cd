//! Finds expired instances: ranges of rows, and the trees of those that have expired.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::Timestamp;
use meantime_kernel::store::{PurgeRequest, RetentionDecision};

use super::connection::{Call, Connection, QueryError, values};
use crate::row::Columns;
use crate::sweep::{Candidate, RANGE_ROWS, Range, Sweep, candidate_columns, is_root};

const RANGE: &str = concat!(
    "SELECT ",
    candidate_columns!(),
    " FROM instance AS i WHERE i.id_order > $1 AND i.id_order <= $2 ORDER BY i.id_order LIMIT $3"
);
const NEXT: &str = "SELECT id_order FROM instance WHERE id_order > $1 ORDER BY id_order LIMIT 1";
const CHILDREN: &str = "SELECT id_order, id_random, ended_at IS NULL, meta, parent_id_order FROM \
     instance \
     WHERE parent_id_order = ANY ($1::bigint[])";
const OPEN_TASKS: &str =
    "SELECT DISTINCT id_order FROM task WHERE id_order = ANY ($1::bigint[]) AND state <> 'done'";
const EVENTS: &str = "SELECT DISTINCT id_order FROM inbox WHERE id_order = ANY ($1::bigint[])";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[RANGE, NEXT, CHILDREN, OPEN_TASKS, EVENTS];

/// Fills the list of instances to delete, up to the limit and a bounded number of ranges.
pub(super) async fn find_expired(
    connection: &Connection,
    sweep: &mut Sweep,
    request: &PurgeRequest,
) -> Result<(), QueryError> {
    sweep.begin(request);
    for _ in 0..Sweep::looks(request) {
        let Some(range) = sweep.next_range(request) else { break };
        look(connection, sweep, range, request).await?;
    }
    Ok(())
}

/// When the next instance expires.
pub(super) async fn next(
    connection: &Connection,
    sweep: &Sweep,
    request: &PurgeRequest,
) -> Result<Option<Timestamp>, QueryError> {
    let found = connection.one(NEXT, values![sweep.position()]).await?;
    Ok(sweep.next(found.first(|row| row.integer(0))?, request))
}

async fn look(
    connection: &Connection,
    sweep: &mut Sweep,
    range: Range,
    request: &PurgeRequest,
) -> Result<(), QueryError> {
    let limits = values![range.from, range.to, RANGE_ROWS];
    let rows = connection.one(RANGE, limits).await?.read(Candidate::read)?;
    let mut again: Option<Timestamp> = None;
    let mut expired: BTreeMap<i64, Timestamp> = BTreeMap::new();
    for row in &rows {
        match row.decide_retention(request) {
            RetentionDecision::Delete { or_check_at: at } => {
                expired.insert(row.id_order, at);
            }
            RetentionDecision::CheckAt(at) => again = again.into_iter().chain([at]).min(),
            RetentionDecision::Keep => {}
        }
    }
    let mut trees = trees(connection, expired.keys().copied().collect()).await?;
    for (root, at) in expired {
        match trees.remove(&root) {
            Some(members) => sweep.doomed.extend(members),
            None => again = again.into_iter().chain([at]).min(),
        }
    }
    sweep.looked(range, &rows, again);
    Ok(())
}

/// All members of each tree, descendants first, by root; no entry if one of them cannot be deleted.
async fn trees(
    connection: &Connection,
    roots: Vec<i64>,
) -> Result<BTreeMap<i64, Vec<i64>>, QueryError> {
    let mut trees: BTreeMap<i64, Vec<i64>> = roots.iter().map(|root| (*root, vec![])).collect();
    // Members of the next level, with their root.
    let mut level: BTreeMap<i64, i64> = roots.iter().map(|root| (*root, *root)).collect();
    while !level.is_empty() {
        let orders: Vec<i64> = level.keys().copied().collect();
        let call = |sql| Call::new(sql, values![orders.clone()]);
        let answers = connection.run(&[call(OPEN_TASKS), call(EVENTS), call(CHILDREN)]).await?;
        let [tasks, events, children] = answers.as_slice() else { break };
        let mut busy: BTreeSet<i64> = tasks.read(|row| row.integer(0))?.into_iter().collect();
        busy.extend(events.read(|row| row.integer(0))?);
        let mut below = BTreeMap::new();
        for row in &children.rows {
            let parent = row.integer(4)?;
            if is_root(row, 0, 1, 3)? {
                continue;
            }
            if row.flag(2)? {
                busy.insert(parent);
            }
            if let Some(root) = level.get(&parent) {
                below.insert(row.integer(0)?, *root);
            }
        }
        for (id_order, root) in &level {
            if busy.contains(id_order) {
                trees.remove(root);
            } else if let Some(members) = trees.get_mut(root) {
                members.insert(0, *id_order);
            }
        }
        level = below.into_iter().filter(|(_, root)| trees.contains_key(root)).collect();
    }
    Ok(trees)
}
