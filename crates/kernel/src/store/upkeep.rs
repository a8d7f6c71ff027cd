//! What housekeeping asks of a store, and what operators did to it as a whole.

use std::sync::Arc;

use meantime_core::{InstanceId, Retention, Timestamp};

use crate::history::AuditInfo;

/// Remove some of what is over and old enough.
///
/// A tree goes by its root, and a run of a schedule is a root of its own: when the root is over and
/// its period has passed, and no member is alive, has a task that is not over, or has events
/// waiting. Until then all of it stays.
#[derive(Debug, Clone)]
pub struct PurgeRequest {
    /// The time.
    pub now: Timestamp,
    /// How long what is kept. A store may remember what it has looked at under a policy, so the
    /// same policy should come as the same value.
    pub retention: Arc<Retention>,
    /// How many rows at most, in one transaction; at least one is removed if there is any.
    pub limit: usize,
}

/// What a purge removed, and when to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Purged {
    /// Instances.
    pub instances: usize,
    /// Their history rows and tags.
    pub attachments: usize,
    /// Detached tasks that were over.
    pub tasks: usize,
    /// What became of occurrences of schedules.
    pub occurrences: usize,
    /// Messages nobody took in time.
    pub messages: usize,
    /// Message ids.
    pub message_ids: usize,
    /// Answers to idempotency keys.
    pub answers: usize,
    /// When to ask again: nothing that is there now can go before. At or before the time of the
    /// request when there is more to do at once; none when nothing that is there can ever go.
    pub next: Option<Timestamp>,
}

impl Purged {
    /// All rows that were removed.
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

/// Cut the history of one instance short.
#[derive(Debug, Clone, Copy)]
pub struct CompactRequest {
    /// Whose.
    pub instance: InstanceId,
    /// How many of its newest rows stay.
    pub keep: usize,
    /// How many rows are removed in one transaction.
    pub limit: usize,
}

/// Something that was done to the store as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow {
    /// Counted from 1.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: OperationKind,
    /// Who and why.
    pub audit: AuditInfo,
}

/// What was done to the store as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// It was copied; this is the copy.
    Copied,
    /// It was restored from a copy.
    Restored,
    /// Somebody confirmed that it may act.
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

/// When to look again at something that cannot go yet because it, or something below it, is alive.
///
/// Even if it ended now it would stay for its period. When periods are short, what has lived long
/// will probably go on living, so it is looked at less and less often, once a day at least.
pub fn look_again(now: Timestamp, since: Timestamp, period_ms: i64) -> Timestamp {
    const SECOND: i64 = 1_000;
    const DAY: i64 = 86_400_000;
    let age = now.saturating_since(since).clamp(SECOND, DAY);
    now.saturating_add_millis(period_ms.max(age))
}

/// The epoch after a restore. Restoring the same copy twice must not give the same epoch twice, or
/// tokens of the first life would be good in the second (I5); so it is at least the time of the
/// restore in seconds.
pub fn next_epoch(epoch: u32, now: Timestamp) -> u32 {
    let seconds = u32::try_from(now.as_millis() / 1_000).unwrap_or_default();
    epoch.saturating_add(1).max(seconds)
}
