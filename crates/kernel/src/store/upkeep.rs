//! Requests of retention, and operations on a store as a whole.

use std::sync::Arc;

use meantime_core::{Ending, InstanceId, Retention, Timestamp};

use super::row::Phase;
use crate::history::AuditInfo;

/// Delete some expired data.
///
/// A tree is deleted together with its root, and a run of a schedule is a root of its own: when the
/// root has ended and its period has passed, and no member is live, has an open task, or has events
/// in its inbox. Until then the whole tree stays.
#[derive(Debug, Clone)]
pub struct PurgeRequest {
    /// The time.
    pub now: Timestamp,
    /// The retention policy. A store may cache what it has examined under a policy, so the same
    /// policy should be passed as the same value.
    pub retention: Arc<Retention>,
    /// The largest number of rows to delete in one transaction; at least one is deleted if there is
    /// any.
    pub limit: usize,
}

/// What a purge deleted, and when to call again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Purged {
    /// Instances.
    pub instances: usize,
    /// Their history rows and tags.
    pub attachments: usize,
    /// Detached tasks that had ended.
    pub tasks: usize,
    /// Ledger rows of schedules.
    pub occurrences: usize,
    /// Messages that expired.
    pub messages: usize,
    /// Message ids.
    pub message_ids: usize,
    /// Answers to idempotency keys.
    pub answers: usize,
    /// When to call again: no data that exists now can expire earlier. At or before the time of the
    /// request if there is more to do at once; `None` if nothing that exists can ever expire.
    pub next: Option<Timestamp>,
}

impl Purged {
    /// All deleted rows.
    pub const fn rows(&self) -> usize {
        self.instances
            + self.attachments
            + self.tasks
            + self.occurrences
            + self.messages
            + self.message_ids
            + self.answers
    }
}

/// Compact the history of one instance.
#[derive(Debug, Clone, Copy)]
pub struct CompactRequest {
    /// The instance.
    pub instance: InstanceId,
    /// How many of its newest rows stay.
    pub keep: usize,
    /// How many rows are removed in one transaction.
    pub limit: usize,
}

/// An operation on the store as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow {
    /// Counted from 1.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The kind of operation.
    pub kind: OperationKind,
    /// Actor and reason.
    pub audit: AuditInfo,
}

/// The kind of an operation on the store as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// A backup was made; this store is the backup.
    Copied,
    /// It was restored from a backup.
    Restored,
    /// It was resumed.
    Resumed,
}

impl OperationKind {
    /// Every kind with its stored name.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Copied, "copied"), (Self::Restored, "restored"), (Self::Resumed, "resumed")];

    /// The stored name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("copied", |(_, name)| name)
    }

    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// What retention does with the root of a tree, as far as its own row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionDecision {
    /// It is deleted with its tree if every member has ended; otherwise it is checked again at this
    /// time.
    Delete {
        /// When to check it again.
        or_check_at: Timestamp,
    },
    /// It is kept at least until this time.
    CheckAt(Timestamp),
    /// It is never deleted.
    Keep,
}

impl RetentionDecision {
    /// Decides about an instance that is not part of another one's tree.
    pub fn of(
        request: &PurgeRequest,
        definition: &str,
        phase: Phase,
        started_at: Timestamp,
        ended_at: Option<Timestamp>,
    ) -> Self {
        let ending = match phase {
            Phase::Completed => Ending::Completed,
            Phase::Failed => Ending::Failed,
            Phase::Cancelled => Ending::Cancelled,
            Phase::Starting | Phase::Running | Phase::Yielding | Phase::Closing => {
                // It is live and may end at any moment from now on.
                let shortest = request.retention.shortest_of(definition);
                return shortest.map_or(Self::Keep, |period| {
                    Self::CheckAt(next_check(request.now, started_at, period))
                });
            }
        };
        let keep = request.retention.keep(definition, ending);
        let Some(until) = ended_at.and_then(|at| keep.until(at)) else { return Self::Keep };
        if until > request.now {
            return Self::CheckAt(until);
        }
        let period = keep.as_millis().unwrap_or_default();
        Self::Delete { or_check_at: next_check(request.now, until, period) }
    }
}

/// When to examine an instance again that cannot be deleted yet because it, or a descendant, is
/// live.
///
/// Even if it ended now, it would be kept for its period. If the period is short, an instance that
/// has lived long will probably live on, so it is examined less and less often, at least once a
/// day.
fn next_check(now: Timestamp, since: Timestamp, period_ms: i64) -> Timestamp {
    const SECOND: i64 = 1_000;
    const DAY: i64 = 86_400_000;
    let age = now.saturating_since(since).clamp(SECOND, DAY);
    now.saturating_add_millis(period_ms.max(age))
}

/// The epoch after a restore. It is at least the time of the restore in seconds: restoring the same
/// backup twice must not give the same epoch twice, or tokens of the first restore would be valid
/// in the second (I5).
pub fn next_epoch(epoch: u32, now: Timestamp) -> u32 {
    let seconds = u32::try_from(now.as_millis() / 1_000).unwrap_or_default();
    epoch.saturating_add(1).max(seconds)
}
