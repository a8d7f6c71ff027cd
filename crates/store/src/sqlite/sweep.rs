//! Finds the instances that may go, without an index that every instance would pay for.
//!
//! ```text
//!   instances in the order of their ids, which is that of their starts
//!   ──────────────────┬───────────────────────────────┬──────────────►
//!    looked at        │ old enough to have expired     │ started too recently:
//!    [later] [later]  │ if they are over               │ none of them can go
//!                  position                        boundary
//! ```
//!
//! Rows are walked once, from `position` up to what started more than the shortest period ago.
//! Most of them are over by then and go. Those that cannot go yet are remembered in small ranges,
//! each with the instant at which the first of its rows may go, and only then looked at again.
//! Nothing of this is stored: a new process walks over what is left once more.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use meantime_core::{DefinitionId, Ending, Retention, Timestamp};
use meantime_kernel::store::{Error, Extra, Phase, PurgeRequest, look_again};

use super::db::{Columns, Db};
use super::definition;

const TABLE: &str = "instance";

// `extra` says whether a child belongs to a tree or is a run of a schedule, a tree of its own.
const RANGE: &str = "SELECT ord, phase, definition_id, started_at, ended_at, random, \
     CASE WHEN parent_ord IS NOT NULL THEN extra END FROM instance WHERE ord > ?1 AND ord <= ?2 ORDER BY ord LIMIT ?3";
const NEXT: &str = "SELECT ord FROM instance WHERE ord > ?1 ORDER BY ord LIMIT 1";
const CHILDREN: &str = "SELECT ord, random, ended_at IS NULL, extra FROM instance \
     WHERE parent_ord = ?1";
const OPEN_TASK: &str = "SELECT 1 FROM task WHERE ord = ?1 AND state <> 'done'";
const EVENT: &str = "SELECT 1 FROM inbox WHERE ord = ?1";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[RANGE, NEXT, CHILDREN, OPEN_TASK, EVENT];

/// Rows in one remembered range: a look at one of them is a look at all.
const RANGE_ROWS: i64 = 128;

/// Bits of an id's order below the milliseconds.
const COUNTER_BITS: u32 = 15;

/// Where the walk stands.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    retention: Option<Arc<Retention>>,
    position: i64,
    /// Ranges to look at again, by (when, after which row): up to which row.
    later: BTreeMap<(Timestamp, i64), i64>,
    /// Members of trees that may go, descendants first. What is over stays over, so the list stays
    /// good.
    pub(super) doomed: VecDeque<i64>,
    names: BTreeMap<DefinitionId, String>,
}

/// One row, as far as it matters here.
struct Candidate {
    ord: i64,
    phase: Phase,
    definition: DefinitionId,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    is_child: bool,
}

enum Judged {
    /// The tree may go.
    Goes(Vec<i64>),
    /// Not before then.
    At(Timestamp),
    /// Never, or by the hand of its root.
    Stays,
}

impl Sweep {
    /// Fills the list of what may go, up to the limit and a bounded number of looks.
    pub(super) fn gather(&mut self, db: &Db<'_>, request: &PurgeRequest) -> Result<(), Error> {
        if self.retention.as_ref().is_none_or(|known| *known != request.retention) {
            *self = Self { retention: Some(request.retention.clone()), ..Self::default() };
        }
        let boundary = boundary(request);
        let mut ranges = 16 + request.limit / 32;
        while self.doomed.len() < request.limit && ranges > 0 {
            ranges -= 1;
            let due = self.later.first_key_value().filter(|((at, _), _)| *at <= request.now);
            if let Some((key, to)) = due.map(|(key, to)| (*key, *to)) {
                self.later.remove(&key);
                self.look(db, key.1, to, request)?;
            } else if let Some(boundary) = boundary.filter(|boundary| *boundary > self.position) {
                self.position = self.look(db, self.position, boundary, request)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// When there is something to gather again: at once while the list is not empty.
    pub(super) fn next(
        &self,
        db: &Db<'_>,
        request: &PurgeRequest,
    ) -> Result<Option<Timestamp>, Error> {
        if !self.doomed.is_empty() {
            return Ok(Some(request.now));
        }
        let mut next = self.later.first_key_value().map(|((at, _), _)| *at);
        if let Some(shortest) = request.retention.shortest()
            && let Some(ord) = db.first(NEXT, [self.position], |row| row.get::<i64>(0))?
        {
            let started = Timestamp::try_from_millis(ord >> COUNTER_BITS).unwrap_or_default();
            let at = started.saturating_add_millis(shortest);
            next = next.into_iter().chain([at]).min();
        }
        Ok(next)
    }

    /// Looks at the next rows after `from`, up to `to`; says up to where.
    fn look(
        &mut self,
        db: &Db<'_>,
        from: i64,
        to: i64,
        request: &PurgeRequest,
    ) -> Result<i64, Error> {
        let rows = db.all(RANGE, [from, to, RANGE_ROWS], read)?;
        let is_full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= RANGE_ROWS;
        let end = rows.last().map(|row| row.ord).filter(|_| is_full).unwrap_or(to);
        let mut again: Option<Timestamp> = None;
        for row in rows {
            match self.judge(db, &row, request)? {
                Judged::Goes(members) => self.doomed.extend(members),
                Judged::At(at) => again = again.into_iter().chain([at]).min(),
                Judged::Stays => {}
            }
        }
        if let Some(at) = again {
            self.later.insert((at, from), end);
        }
        Ok(end)
    }

    fn judge(
        &mut self,
        db: &Db<'_>,
        row: &Candidate,
        request: &PurgeRequest,
    ) -> Result<Judged, Error> {
        if row.is_child {
            return Ok(Judged::Stays);
        }
        let name = self.name(db, row.definition)?;
        let ending = match row.phase {
            Phase::Completed => Ending::Completed,
            Phase::Failed => Ending::Failed,
            Phase::Cancelled => Ending::Cancelled,
            _ => {
                let shortest = request.retention.shortest_of(name);
                return Ok(shortest.map_or(Judged::Stays, |period| {
                    Judged::At(look_again(request.now, row.started_at, period))
                }));
            }
        };
        let keep = request.retention.keep(name, ending);
        let Some(until) = row.ended_at.and_then(|at| keep.until(at)) else {
            return Ok(Judged::Stays);
        };
        if until > request.now {
            return Ok(Judged::At(until));
        }
        let period = keep.as_millis().unwrap_or_default();
        Ok(match tree(db, row.ord)? {
            Some(members) => Judged::Goes(members),
            None => Judged::At(look_again(request.now, until, period)),
        })
    }

    fn name(&mut self, db: &Db<'_>, id: DefinitionId) -> Result<&str, Error> {
        Ok(match self.names.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(definition::name(db, id)?.unwrap_or_default()),
        })
    }
}

/// The largest order of an instance that may have expired: it started a shortest period ago.
fn boundary(request: &PurgeRequest) -> Option<i64> {
    let shortest = request.retention.shortest()?;
    let started = request.now.as_millis().saturating_sub(shortest);
    let next = started.checked_add(1)?.checked_mul(1 << COUNTER_BITS)?;
    Some(next - 1).filter(|boundary| *boundary > 0)
}

/// All members of a tree, descendants first; none when one of them is not over.
fn tree(db: &Db<'_>, root: i64) -> Result<Option<Vec<i64>>, Error> {
    let mut members = Vec::new();
    let mut next = vec![root];
    while let Some(ord) = next.pop() {
        let is_busy = db.first(OPEN_TASK, [ord], |_| Ok(()))?.is_some()
            || db.first(EVENT, [ord], |_| Ok(()))?.is_some();
        let children = db.some(CHILDREN, [ord], usize::MAX, |row| {
            let child = (row.get::<i64>(0)?, row.get::<bool>(2)?);
            Ok((!is_root(row, 0, 1, 3)?).then_some(child))
        })?;
        if is_busy || children.iter().any(|(_, is_live)| *is_live) {
            return Ok(None);
        }
        members.push(ord);
        next.extend(children.into_iter().map(|(ord, _)| ord));
    }
    members.reverse();
    Ok(Some(members))
}

fn read(row: &Columns<'_, '_>) -> Result<Candidate, Error> {
    let known = |bytes: &[u8]| {
        let name = std::str::from_utf8(bytes).ok();
        name.and_then(Phase::from_name).ok_or("unknown phase")
    };
    Ok(Candidate {
        ord: row.get(0)?,
        phase: row.parsed(1, TABLE, known)?,
        definition: DefinitionId(row.number(2)?),
        started_at: row.instant(3, TABLE)?,
        ended_at: row.instant_if(4, TABLE)?,
        is_child: !is_root(row, 0, 5, 6)?,
    })
}

/// Whether an instance is the top of its tree, from the columns of its id and its lineage.
fn is_root(row: &Columns<'_, '_>, ord: usize, random: usize, extra: usize) -> Result<bool, Error> {
    let extra: Extra = row.unpacked_if(extra, TABLE)?.unwrap_or_default();
    let id = row.instance(ord, random)?;
    Ok(extra.lineage.is_none_or(|lineage| lineage.root == id))
}
