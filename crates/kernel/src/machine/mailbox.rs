//! What waits in memory for an instance, until a turn takes it.

use std::collections::VecDeque;

use meantime_core::{DefinitionId, Event, InstanceId, Json, TaskId, TimerId, Timestamp};

use super::io::Ticket;
use crate::command::{LeaseToken, Reply, Report, StartCommand, TimerEdit, Wait};
use crate::history::AuditInfo;
use crate::open::Key;
use crate::store::{IncidentRow, InstanceRow, TimerKey};

/// A start waits for the first turns of so many children at most.
const SPAWNED_AWAITED: usize = 64;

/// An instance that has something to do, or somebody waiting for it.
#[derive(Debug)]
pub(super) struct Mailbox {
    /// Not yet in the store.
    pub(super) pending: VecDeque<PendingItem>,
    /// The store may have events for it.
    pub(super) durable: bool,
    /// It goes on by itself: its first turn, or after giving way.
    pub(super) goes_on: bool,
    /// It is in a batch.
    pub(super) in_flight: bool,
    /// Its definition is being loaded.
    pub(super) waits_for_definition: bool,
    /// Another node holds it; it is left alone until then.
    pub(super) locked_until: Option<Timestamp>,
    /// How often in a row another node held it.
    pub(super) misses: u32,
    /// So many turns take one event only, after a turn with several failed.
    pub(super) solo: usize,
    /// Callers whose command was taken and who wait for the instance to come to rest.
    pub(super) waiters: Vec<Waiter>,
    /// For fairness; zero while unknown.
    pub(super) definition: DefinitionId,
    /// How the instance stood after its last turn.
    pub(super) wait_state: WaitState,
    /// Its row, while whoever started it waits.
    pub(super) shown: Option<Box<InstanceRow>>,
    /// Children that it has started while whoever started it waits: their first turns belong to
    /// what is waited for.
    pub(super) spawned: Vec<InstanceId>,
}

/// What callers who wait for an instance must know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum WaitState {
    /// It waits only for time, signals, messages, steps or people.
    #[default]
    Idle,
    /// It is over.
    Over,
    /// It waits for a worker or the engine.
    Busy,
    /// It waits for children, who may wait themselves.
    Parent,
}

impl WaitState {
    pub(super) fn of(row: &InstanceRow) -> Self {
        if row.phase.is_ended() {
            Self::Over
        } else if row.open.is_idle() {
            Self::Idle
        } else if row.open.children > 0 {
            Self::Parent
        } else {
            Self::Busy
        }
    }

    /// Whether somebody who waits in this way has waited enough.
    pub(super) fn satisfies(self, wait: Wait) -> bool {
        match wait {
            Wait::Quiet => true,
            Wait::Idle => matches!(self, Self::Idle | Self::Over),
            Wait::Ended => self == Self::Over,
        }
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            durable: false,
            goes_on: false,
            in_flight: false,
            waits_for_definition: false,
            locked_until: None,
            misses: 0,
            solo: 0,
            waiters: Vec::new(),
            definition: DefinitionId(0),
            wait_state: WaitState::Idle,
            shown: None,
            spawned: Vec::new(),
        }
    }
}

impl Mailbox {
    /// Whether a turn has something to do.
    pub(super) fn has_work(&self) -> bool {
        !self.pending.is_empty() || self.durable || self.goes_on
    }

    /// The row is kept for somebody who started the instance and is to see it.
    pub(super) fn show(&mut self, row: &InstanceRow, starts: bool) {
        if starts || self.shown.is_some() {
            self.shown = Some(Box::new(row.clone()));
        }
    }

    /// Remembers children for somebody who started the instance and waits for its first turns.
    pub(super) fn spawn(&mut self, children: &[InstanceId], starts: bool) {
        let is_start = |waiter: &Waiter| matches!(waiter.reply, Some(Reply::Started { .. }));
        if starts || self.waiters.iter().any(is_start) {
            let room = SPAWNED_AWAITED.saturating_sub(self.spawned.len());
            self.spawned.extend(children.iter().take(room));
        }
    }

    /// Whether nothing needs the mailbox.
    pub(super) fn is_idle(&self) -> bool {
        !self.has_work() && !self.in_flight && self.waiters.is_empty()
    }
}

/// A caller who waits for an instance to come to rest.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) ticket: Ticket,
    pub(super) wait: Wait,
    /// A timer that must have fired first.
    pub(super) after: Option<Key>,
    /// The answer; none when several instances must come to rest first.
    pub(super) reply: Option<Reply>,
}

/// Something for an instance that is not yet in the store.
#[derive(Debug, Clone)]
pub(super) struct PendingItem {
    pub(super) item: MailboxItem,
    pub(super) ticket: Option<Ticket>,
    pub(super) wait: Wait,
    pub(super) at: Timestamp,
    pub(super) bytes: usize,
}

impl PendingItem {
    /// Something nobody waits for.
    pub(super) fn internal(item: MailboxItem, at: Timestamp) -> Self {
        Self { item, ticket: None, wait: Wait::Quiet, at, bytes: 0 }
    }
}

/// What it is.
#[derive(Debug, Clone)]
pub(super) enum MailboxItem {
    /// The start of a new instance.
    Start(Box<StartCommand>, DefinitionId),
    /// Somebody waits for what becomes of it.
    Await,
    /// An event as it is; with who caused it, if it is an operator's doing.
    Event(Event, Option<AuditInfo>),
    /// A signal.
    Signal { name: String, payload: Json },
    /// What somebody says of a task.
    Report { task: TaskId, token: Option<LeaseToken>, report: Report },
    /// A lease ran out.
    LeaseExpired(TaskId),
    /// An attempt took too long.
    AttemptTimedOut(TaskId),
    /// A timer that is due, as the queue knows it.
    Timer(TimerKey),
    /// An operator's edit of a timer.
    Edit { timer: TimerId, edit: TimerEdit, audit: AuditInfo },
    /// An operator's answer to an incident: to try again, or what its place ends with.
    Incident { row: Box<IncidentRow>, variables: Option<Json>, audit: AuditInfo },
}

impl MailboxItem {
    /// The task whose row is needed.
    pub(super) fn task(&self) -> Option<TaskId> {
        match self {
            Self::Report { task, .. } | Self::LeaseExpired(task) | Self::AttemptTimedOut(task) => {
                Some(*task)
            }
            Self::Incident { row, .. } => match row.cause {
                crate::store::IncidentCause::Task(key) => Some(TaskId(key)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl MailboxItem {
    /// The incident that somebody answers.
    pub(super) fn incident(&self) -> Option<meantime_core::IncidentId> {
        match self {
            Self::Incident { row, .. } => Some(row.id),
            _ => None,
        }
    }
}

/// Something that belongs to no instance, or not yet.
#[derive(Debug)]
pub(super) struct GlobalCommand {
    pub(super) item: GlobalAction,
    pub(super) ticket: Option<Ticket>,
    /// It was answered, or handed on: its batch has nothing more to do for it.
    pub(super) over: bool,
}

impl GlobalCommand {
    pub(super) const fn new(item: GlobalAction, ticket: Option<Ticket>) -> Self {
        Self { item, ticket, over: false }
    }
}

/// What it is.
#[derive(Debug)]
pub(super) enum GlobalAction {
    Claim(super::claim::ParkedClaim),
    Extend {
        task: TaskId,
        token: LeaseToken,
        lease_ms: u64,
    },
    Release {
        task: TaskId,
        token: LeaseToken,
    },
    Assign {
        task: TaskId,
        assignee: Option<String>,
    },
    Publish(meantime_core::Message),
    Broadcast {
        name: String,
        payload: Json,
    },
    PutSchedule {
        spec: Box<meantime_core::ScheduleSpec>,
        on_existing: meantime_core::OnExisting,
    },
    Deploy(crate::command::Deployment),
    Undeploy {
        name: String,
        version: u32,
    },
    Incident {
        incident: meantime_core::IncidentId,
        variables: Option<Json>,
        audit: AuditInfo,
    },
    /// A restored copy may act.
    Resume {
        audit: AuditInfo,
    },
    /// Engine tasks to run: after a restart, or when their wait is over.
    Redispatch(Vec<TaskId>),
}

impl GlobalAction {
    pub(super) fn tasks(&self) -> &[TaskId] {
        match self {
            Self::Extend { task, .. } | Self::Release { task, .. } | Self::Assign { task, .. } => {
                std::slice::from_ref(task)
            }
            Self::Redispatch(tasks) => tasks,
            _ => &[],
        }
    }
}

/// The instance a pending event is for, by its timer.
pub(super) fn owner(timer: TimerId) -> InstanceId {
    timer.0.instance
}
