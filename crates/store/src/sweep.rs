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

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use meantime_core::{Ending, Retention, Timestamp};
use meantime_kernel::store::{Error, InstanceMeta, Phase, PurgeRequest, look_again};

use crate::row::{Columns, instance};

const TABLE: &str = "instance";

/// What [`Candidate::read`] reads, in its order. The last one says whether a child belongs to a
/// tree or is a run of a schedule, a tree of its own.
macro_rules! candidate_columns {
    () => {
        "i.id_order, i.phase, (SELECT d.name FROM definition AS d WHERE d.id = i.definition_id), \
         i.started_at, i.ended_at, i.id_random, CASE WHEN i.parent_id_order IS NOT NULL THEN \
         i.meta END"
    };
}
pub(crate) use candidate_columns;

/// Rows in one remembered range: a look at one of them is a look at all.
pub(crate) const RANGE_ROWS: i64 = 128;

/// Bits of an id's order below the milliseconds.
const COUNTER_BITS: u32 = 15;

/// Where the walk stands.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    retention: Option<Arc<Retention>>,
    position: i64,
    /// Ranges to look at again, by (when, after which row): up to which row.
    later: BTreeMap<(Timestamp, i64), i64>,
    /// Members of trees that may go, descendants first. What is over stays over, so the list stays
    /// good.
    pub(crate) doomed: VecDeque<i64>,
}

/// A part of the walk: rows after `from`, up to `to`, at most [`RANGE_ROWS`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) from: i64,
    pub(crate) to: i64,
    is_new: bool,
}

/// One row, as far as it matters here.
pub(crate) struct Candidate {
    pub(crate) id_order: i64,
    phase: Phase,
    definition: String,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    is_child: bool,
}

/// How a row is judged by itself.
pub(crate) enum Judged {
    /// It may go if its whole tree is over; otherwise it is looked at again then.
    Expired(Timestamp),
    /// Not before then.
    At(Timestamp),
    /// Never, or by the hand of its root.
    Stays,
}

impl Sweep {
    /// Begins anew when the policy has changed.
    pub(crate) fn begin(&mut self, request: &PurgeRequest) {
        if self.retention.as_ref().is_none_or(|known| *known != request.retention) {
            *self = Self { retention: Some(request.retention.clone()), ..Self::default() };
        }
    }

    /// How many ranges one request may look at.
    pub(crate) fn looks(request: &PurgeRequest) -> usize {
        16 + request.limit / 32
    }

    /// What to look at next, while there is room for more.
    pub(crate) fn next_range(&mut self, request: &PurgeRequest) -> Option<Range> {
        if self.doomed.len() >= request.limit {
            return None;
        }
        let due = self.later.first_key_value().filter(|((at, _), _)| *at <= request.now);
        if let Some((key, to)) = due.map(|(key, to)| (*key, *to)) {
            self.later.remove(&key);
            return Some(Range { from: key.1, to, is_new: false });
        }
        let to = boundary(request).filter(|boundary| *boundary > self.position)?;
        Some(Range { from: self.position, to, is_new: true })
    }

    /// A range was looked at: some of it may go at once, some of it not before an instant.
    pub(crate) fn looked(&mut self, range: Range, rows: &[Candidate], again: Option<Timestamp>) {
        let is_full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= RANGE_ROWS;
        let end = rows.last().map(|row| row.id_order).filter(|_| is_full).unwrap_or(range.to);
        if let Some(at) = again {
            self.later.insert((at, range.from), end);
        }
        if range.is_new {
            self.position = end;
        } else if end < range.to {
            // Rows that came to the range since are looked at soon.
            self.later.insert((Timestamp::MIN, end), range.to);
        }
    }

    /// The last row that was looked at: the first one after it tells when to go on.
    pub(crate) fn position(&self) -> i64 {
        self.position
    }

    /// When there is something expired again: at once while the list is not empty. `next` is the
    /// first row after the position.
    pub(crate) fn next(&self, next: Option<i64>, request: &PurgeRequest) -> Option<Timestamp> {
        if !self.doomed.is_empty() {
            return Some(request.now);
        }
        let again = self.later.first_key_value().map(|((at, _), _)| *at);
        let new = next.zip(request.retention.shortest()).map(|(id_order, shortest)| {
            let started = Timestamp::try_from_millis(id_order >> COUNTER_BITS).unwrap_or_default();
            started.saturating_add_millis(shortest)
        });
        again.into_iter().chain(new).min()
    }
}

impl Candidate {
    /// Reads `candidate_columns!`.
    pub(crate) fn read(row: &impl Columns) -> Result<Self, Error> {
        Ok(Self {
            id_order: row.integer(0)?,
            phase: instance::phase(row, 1)?,
            definition: row.text_if(2)?.unwrap_or_default(),
            started_at: row.instant(3, TABLE)?,
            ended_at: row.instant_if(4, TABLE)?,
            is_child: !is_root(row, 0, 5, 6)?,
        })
    }

    pub(crate) fn judge(&self, request: &PurgeRequest) -> Judged {
        if self.is_child {
            return Judged::Stays;
        }
        let ending = match self.phase {
            Phase::Completed => Ending::Completed,
            Phase::Failed => Ending::Failed,
            Phase::Cancelled => Ending::Cancelled,
            _ => {
                let shortest = request.retention.shortest_of(&self.definition);
                return shortest.map_or(Judged::Stays, |period| {
                    Judged::At(look_again(request.now, self.started_at, period))
                });
            }
        };
        let keep = request.retention.keep(&self.definition, ending);
        let Some(until) = self.ended_at.and_then(|at| keep.until(at)) else {
            return Judged::Stays;
        };
        if until > request.now {
            return Judged::At(until);
        }
        let period = keep.as_millis().unwrap_or_default();
        Judged::Expired(look_again(request.now, until, period))
    }
}

/// The largest order of an instance that may have expired: it started a shortest period ago.
fn boundary(request: &PurgeRequest) -> Option<i64> {
    let shortest = request.retention.shortest()?;
    let started = request.now.as_millis().saturating_sub(shortest);
    let next = started.checked_add(1)?.checked_mul(1 << COUNTER_BITS)?;
    Some(next - 1).filter(|boundary| *boundary > 0)
}

/// Whether an instance is the top of its tree, from the columns of its id and its lineage.
pub(crate) fn is_root(
    row: &impl Columns,
    id_order: usize,
    id_random: usize,
    meta: usize,
) -> Result<bool, Error> {
    let Ok(meta) = row.unpacked_if::<InstanceMeta>(meta, TABLE) else {
        // It goes with the tree that it was found in, or stays.
        return Ok(false);
    };
    let meta = meta.unwrap_or_default();
    let id = row.instance(id_order, id_random)?;
    Ok(meta.lineage.is_none_or(|lineage| lineage.root == id))
}
