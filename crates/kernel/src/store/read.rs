//! Filters and pages of reads, and what recovery returns.

use meantime_core::{DefinitionId, InstanceId, TaskId, TaskKind, Timestamp};

use super::{Partition, TaskState, TimerKey};

/// A page of a list: the entries after a key, up to a limit.
#[derive(Debug, Clone, Copy)]
pub struct Page<K> {
    /// The last key of the previous page.
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

/// A filter of definitions.
#[derive(Debug, Clone, Default)]
pub struct DefinitionFilter {
    /// Of this name.
    pub name: Option<String>,
    /// Of this version.
    pub version: Option<u32>,
    /// Only the latest version of each name that is not retired.
    pub latest: bool,
}

/// A filter of tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Of this instance.
    pub instance: Option<InstanceId>,
    /// Of this kind.
    pub kind: Option<TaskKind>,
    /// In this state.
    pub state: Option<TaskState>,
}

/// A filter of timers.
#[derive(Debug, Clone, Default)]
pub struct TimerFilter {
    /// Of this instance.
    pub instance: Option<InstanceId>,
    /// Of these definitions; empty means all.
    pub definitions: Vec<DefinitionId>,
    /// Due at or after.
    pub due_from: Option<Timestamp>,
    /// Due before.
    pub due_before: Option<Timestamp>,
    /// Of this element.
    pub element: Option<String>,
    /// Only those that can fire: without timers that are due after the deadline of their instance
    /// (D3).
    pub before_deadline: bool,
}

/// A count of timers in parts of a window: those that can fire, without frozen ones.
#[derive(Debug, Clone)]
pub struct TimerCount {
    /// The beginning of the window.
    pub from: Timestamp,
    /// Its end, exclusive.
    pub to: Timestamp,
    /// The length of a part in milliseconds, at least one.
    pub bucket_ms: i64,
    /// Of these definitions.
    pub definitions: Vec<DefinitionId>,
    /// Of all definitions except these.
    pub others: bool,
}

/// A query for the timers that fire next.
#[derive(Debug, Clone, Copy)]
pub struct DueQuery {
    /// After this one.
    pub after: Option<TimerKey>,
    /// Due before this instant; `None` means any time.
    pub before: Option<Timestamp>,
    /// Of instances of this partition.
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

/// What a node needs to continue after a stop or a crash.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// Increased by every restore; part of every lease token (I5).
    pub epoch: u32,
    /// Whether the store is restored and not resumed.
    pub paused: bool,
    /// The latest time any commit has seen (T13).
    pub clock: Timestamp,
    /// The number of the last batch that was committed.
    pub batch: u64,
    /// The process that used the store last did not close it: answers to its last commits may be
    /// lost. A store that several nodes share does not tell.
    pub was_cut_off: bool,
    /// The largest sequence number in use, of ids, inbox and history alike.
    pub seq: u64,
    /// Instances that have events or continue without an event.
    pub ready: Vec<InstanceId>,
    /// Tasks that wait for time or for the engine: leased, delayed, or engine tasks.
    pub tasks: Vec<WaitingTask>,
}

/// A task for which something will be due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingTask {
    /// The task.
    pub id: TaskId,
    /// Its kind.
    pub kind: TaskKind,
    /// The queue it is claimed from.
    pub queue: String,
    /// Its state.
    pub state: TaskState,
    /// When it can be claimed; when it was claimed, while it is leased.
    pub available_at: Timestamp,
    /// When its lease expires, in real time.
    pub lease_until: Option<Timestamp>,
    /// When its attempt times out.
    pub timeout_at: Option<Timestamp>,
}
