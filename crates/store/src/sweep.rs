//! Finds expired instances without an index that every instance would pay for.
//!
//! ```text
//!   instances in the order of their ids, which is that of their starts
//!   ──────────────────┬────────────────────────────────┬──────────────►
//!    examined         │ old enough to have expired     │ started too recently:
//!    [later] [later]  │ if they have ended             │ none of them can expire
//!                  position                         boundary
//! ```
//!
//! Rows are scanned once, from `position` up to those that started more than the shortest period
//! ago. Most of them have ended by then and are deleted. The others are remembered in small ranges,
//! each with the instant at which the first of its rows may expire, and examined again only then.
//! The position is not stored: a new process scans what is left once more.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use meantime_core::{Retention, Timestamp};
use meantime_kernel::store::{Error, InstanceMeta, Phase, PurgeRequest, RetentionDecision};

use crate::row::{Columns, instance};

const TABLE: &str = "instance";

/// The columns that [`Candidate::read`] reads, in order. The last one tells whether a child belongs
/// to a tree or is a run of a schedule, which is a tree of its own.
macro_rules! candidate_columns {
    () => {
        "i.id_order, i.phase, (SELECT d.name FROM definition AS d WHERE d.id = i.definition_id), \
         i.started_at, i.ended_at, i.id_random, CASE WHEN i.parent_id_order IS NOT NULL THEN \
         i.meta END"
    };
}
pub(crate) use candidate_columns;

/// Rows of one remembered range, which are examined together.
pub(crate) const RANGE_ROWS: i64 = 128;

/// Bits of an id's order below the milliseconds.
const COUNTER_BITS: u32 = 15;

/// The state of the scan.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    retention: Option<Arc<Retention>>,
    position: i64,
    /// Ranges to examine again, by (when, after which row): up to which row.
    later: BTreeMap<(Timestamp, i64), i64>,
    /// Members of trees to delete, descendants first. An ended instance stays ended, so the list
    /// stays valid.
    pub(crate) doomed: VecDeque<i64>,
}

/// A part of the scan: rows after `from`, up to `to`, at most [`RANGE_ROWS`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) from: i64,
    pub(crate) to: i64,
    is_new: bool,
}

/// The columns of one row that matter here.
pub(crate) struct Candidate {
    pub(crate) id_order: i64,
    phase: Phase,
    definition: String,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    is_child: bool,
}

impl Sweep {
    /// Starts again if the policy has changed.
    pub(crate) fn begin(&mut self, request: &PurgeRequest) {
        if self.retention.as_ref().is_none_or(|known| *known != request.retention) {
            *self = Self { retention: Some(request.retention.clone()), ..Self::default() };
        }
    }

    /// How many ranges one request may examine.
    pub(crate) fn looks(request: &PurgeRequest) -> usize {
        16 + request.limit / 32
    }

    /// The next range to examine, while the list has room.
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

    /// A range was examined: some rows may be deleted at once, others not before an instant.
    pub(crate) fn looked(&mut self, range: Range, rows: &[Candidate], again: Option<Timestamp>) {
        let is_full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= RANGE_ROWS;
        let end = rows.last().map(|row| row.id_order).filter(|_| is_full).unwrap_or(range.to);
        if let Some(at) = again {
            self.later.insert((at, range.from), end);
        }
        if range.is_new {
            self.position = end;
        } else if end < range.to {
            // The rest of a range that now has more rows than one part is examined next.
            self.later.insert((Timestamp::MIN, end), range.to);
        }
    }

    /// The last examined row: the row after it tells when to continue.
    pub(crate) fn position(&self) -> i64 {
        self.position
    }

    /// When the next instance expires: at once while the list is not empty. `next` is the first row
    /// after the position.
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

    /// What retention does with the row. Members of a tree are deleted together with its root.
    pub(crate) fn decide_retention(&self, request: &PurgeRequest) -> RetentionDecision {
        if self.is_child {
            return RetentionDecision::Keep;
        }
        let (definition, ended_at) = (&self.definition, self.ended_at);
        RetentionDecision::of(request, definition, self.phase, self.started_at, ended_at)
    }
}

/// The largest order of an instance that may have expired: it started the shortest period ago.
fn boundary(request: &PurgeRequest) -> Option<i64> {
    let shortest = request.retention.shortest()?;
    let started = request.now.as_millis().saturating_sub(shortest);
    let next = started.checked_add(1)?.checked_mul(1 << COUNTER_BITS)?;
    Some(next - 1).filter(|boundary| *boundary > 0)
}

/// Whether an instance is the root of its tree, from the columns of its id and its lineage.
pub(crate) fn is_root(
    row: &impl Columns,
    id_order: usize,
    id_random: usize,
    meta: usize,
) -> Result<bool, Error> {
    let Ok(meta) = row.unpacked_if::<InstanceMeta>(meta, TABLE) else {
        // Its lineage cannot be decoded: it is deleted with the tree in which it is found, or
        // stays.
        return Ok(false);
    };
    let meta = meta.unwrap_or_default();
    let id = row.instance(id_order, id_random)?;
    Ok(meta.lineage.is_none_or(|lineage| lineage.root == id))
}
