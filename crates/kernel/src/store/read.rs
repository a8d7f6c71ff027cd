//! What reads ask for and get: filters, pages, and what a node needs after a stop.

use meantime_core::{DefinitionId, InstanceId, TaskId, TaskKind, Timestamp};

use super::{Partition, Phase, TaskState, TimerKey};

/// A part of a list: what comes after a key, at most so many.
#[derive(Debug, Clone, Copy)]
pub struct Page<K> {
    /// The last key of the page before.
    pub after: Option<K>,
    /// How many at most.
    pub limit: usize,
}

impl<K> Page<K> {
    /// The first page.
    pub const fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }
}

/// Which definitions.
#[derive(Debug, Clone, Default)]
pub struct DefinitionFilter {
    /// Of this name.
    pub name: Option<String>,
    /// Of this version.
    pub version: Option<u32>,
    /// Only the latest version of each name that is not retired.
    pub latest: bool,
}

/// Which instances.
#[derive(Debug, Clone, Default)]
pub struct InstanceFilter {
    /// That run these versions; empty is all.
    pub definitions: Vec<DefinitionId>,
    /// That do not run these versions.
    pub except: Vec<DefinitionId>,
    /// In these phases; empty is all.
    pub phases: Vec<Phase>,
    /// With an open incident, or without one.
    pub incident: Option<bool>,
    /// With this business key.
    pub key: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Accepted at or after.
    pub started_from: Option<Timestamp>,
    /// Accepted before.
    pub started_before: Option<Timestamp>,
}

/// Which tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Of this instance.
    pub instance: Option<InstanceId>,
    /// Done by these.
    pub kind: Option<TaskKind>,
    /// In this state.
    pub state: Option<TaskState>,
}

/// Which timers.
#[derive(Debug, Clone, Default)]
pub struct TimerFilter {
    /// Of this instance.
    pub instance: Option<InstanceId>,
    /// Of these versions; empty is all.
    pub definitions: Vec<DefinitionId>,
    /// Due at or after.
    pub due_from: Option<Timestamp>,
    /// Due before.
    pub due_before: Option<Timestamp>,
    /// At this place.
    pub element: Option<String>,
    /// Not those that never fire, since the deadline of their instance comes first (D3).
    pub before_deadline: bool,
}

/// Which timers to count, in parts of a window: those that can fire, not frozen ones.
#[derive(Debug, Clone)]
pub struct TimerCount {
    /// Where the window begins.
    pub from: Timestamp,
    /// Where it ends; not part of it.
    pub to: Timestamp,
    /// The length of a part in milliseconds, at least one.
    pub bucket_ms: i64,
    /// Of these versions.
    pub definitions: Vec<DefinitionId>,
    /// Of all versions but those.
    pub others: bool,
}

/// Which timers may fire next.
#[derive(Debug, Clone, Copy)]
pub struct DueQuery {
    /// After this one.
    pub after: Option<TimerKey>,
    /// Due before this instant; none is however late.
    pub before: Option<Timestamp>,
    /// Of these instances.
    pub partition: Partition,
    /// How many at most.
    pub limit: usize,
}

impl DueQuery {
    /// The first of all timers.
    pub const fn first(limit: usize) -> Self {
        Self { after: None, before: None, partition: Partition::ALL, limit }
    }
}

/// What a node needs to go on after a stop or a crash.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// Made larger by every restore; part of every lease token (I5).
    pub epoch: u32,
    /// Whether the store is a copy that may not act until somebody confirms it.
    pub paused: bool,
    /// The latest time any commit has seen (T13).
    pub clock: Timestamp,
    /// The number of the last batch that was committed.
    pub batch: u64,
    /// The largest sequence number in use, of ids, inbox and history alike.
    pub seq: u64,
    /// Instances that have events, or go on by themselves.
    pub ready: Vec<InstanceId>,
    /// Tasks that wait for time or for the engine: leased, delayed, or run by the engine.
    pub tasks: Vec<WaitingTask>,
}

/// A task that something must happen to, sooner or later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingTask {
    /// The task.
    pub id: TaskId,
    /// Who does it.
    pub kind: TaskKind,
    /// The queue it is claimed from.
    pub queue: String,
    /// Where it stands.
    pub state: TaskState,
    /// When it can be claimed.
    pub available_at: Timestamp,
    /// When its lease expires, in real time.
    pub lease_until: Option<Timestamp>,
    /// When its attempt times out.
    pub timeout_at: Option<Timestamp>,
}
