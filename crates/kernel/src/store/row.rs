//! The rows of a store: plain data. A store writes and reads them and decides nothing.

use meantime_core::{
    Channel, DefinitionId, EffectKey, Event, Failure, IncidentId, InstanceId, Json, Outcome,
    ParentClose, SourceFile, Start, State, TaskId, TaskOutcome, TaskSpec, TimerId, Timestamp,
    Trigger,
};
use minicbor::{Decode, Encode};

use crate::command::SuspendedTimers;
use crate::history::{AuditInfo, Record};
use crate::open::{Key, Open};

/// The phase of an instance, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Accepted; its first turn has not run. The state holds the encoded start.
    Starting,
    /// It waits for something.
    Running,
    /// It yielded in the middle of its work and continues without an event.
    Yielding,
    /// Its outcome is fixed; it waits for its children.
    Closing,
    /// It has ended with an output.
    Completed,
    /// It has ended with an error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Phase {
    /// Every phase with its stored name.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Starting, "starting"),
        (Self::Running, "running"),
        (Self::Yielding, "yielding"),
        (Self::Closing, "closing"),
        (Self::Completed, "completed"),
        (Self::Failed, "failed"),
        (Self::Cancelled, "cancelled"),
    ];

    /// Whether the instance has ended. An ended instance never changes again.
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether children that were not abandoned are cancelled.
    pub const fn ends_children(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled)
    }

    /// The stored name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(phase, _)| *phase == self).map_or("running", |(_, name)| name)
    }

    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(phase, _)| *phase)
    }

    /// The phase of an instance that ended with the outcome.
    pub const fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Completed { .. } => Self::Completed,
            Outcome::Failed { .. } => Self::Failed,
            Outcome::Cancelled { .. } => Self::Cancelled,
        }
    }
}

/// One instance.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceRow {
    /// Its id.
    pub id: InstanceId,
    /// The number of its last turn, which the fence of every write compares (I2).
    pub turn_no: u64,
    /// Its phase.
    pub phase: Phase,
    /// The pinned version it runs.
    pub definition: DefinitionId,
    /// When its start was accepted.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// When it must have ended (D1).
    pub deadline_at: Option<Timestamp>,
    /// The state of its notation; the encoded start while `Starting`.
    pub state: State,
    /// Its open timers, tasks and subscriptions.
    pub open: Open,
    /// Its newest history row.
    pub last_history: u64,
    /// Its business key, unique among live instances of one definition name.
    pub key: Option<String>,
    /// Rarely used parts.
    pub meta: InstanceMeta,
}

impl InstanceRow {
    /// An instance that was accepted and has had no turn, without a start.
    pub fn accepted(id: InstanceId, definition: DefinitionId, now: Timestamp) -> Self {
        Self {
            id,
            turn_no: 0,
            phase: Phase::Starting,
            definition,
            started_at: now,
            ended_at: None,
            deadline_at: None,
            state: State::default(),
            open: Open::default(),
            last_history: 0,
            key: None,
            meta: InstanceMeta::default(),
        }
    }

    /// The root of its tree, unless it is the root itself.
    pub fn root_above(&self) -> Option<InstanceId> {
        let root = self.meta.lineage.as_ref()?.root;
        (root != self.id).then_some(root)
    }

    /// Its start, before its first turn.
    pub fn start(&self) -> Option<Start> {
        let is_start = self.phase == Phase::Starting;
        if is_start { minicbor::decode(&self.state.bytes).ok() } else { None }
    }
}

/// Rarely used parts of an instance, packed into one column.
#[derive(Debug, Clone, PartialEq, Default, Encode, Decode)]
pub struct InstanceMeta {
    /// Where it comes from, if it is a child.
    #[n(0)]
    pub lineage: Option<Lineage>,
    /// Tags given at the start.
    #[n(1)]
    pub tags: Vec<String>,
    /// Operations since the last event from outside.
    #[n(2)]
    pub ops: u64,
    /// The outcome, from `Closing` on.
    #[n(3)]
    pub outcome: Option<Outcome>,
    /// The incident that holds its first turn or a slice.
    #[n(4)]
    pub held: Option<IncidentId>,
    /// The message channel to offer the next message from when this instance ends.
    #[n(5)]
    pub started_by: Option<StartedBy>,
    /// How many incidents are open.
    #[n(6)]
    pub incidents: u32,
    /// Whether a signal was ever kept for this instance.
    #[n(7)]
    pub signals: bool,
    /// Nodes with callers that wait until it is idle, if the store is shared.
    #[n(8)]
    pub awaited_at: Option<Vec<u8>>,
    /// Whether the deadlines of its parent and its definition do not apply (D8).
    #[n(9)]
    #[cbor(default)]
    pub own_budget: bool,
    /// What a surface shows of it after its end.
    #[n(10)]
    pub summary: Option<Json>,
    /// The history row of its start.
    #[n(11)]
    pub started_in: Option<u64>,
    /// Nodes with callers that wait for its end, if the store is shared.
    #[n(12)]
    pub end_awaited_at: Option<Vec<u8>>,
    /// The suspension of an operator, while it lasts.
    #[n(13)]
    pub suspended: Option<Box<Suspension>>,
    /// The instance that it repeats, if an operator restarted one.
    #[n(14)]
    pub restart_of: Option<InstanceId>,
    /// The part of the row that could not be decoded; the row holds the rest. Never stored.
    #[cbor(skip)]
    pub damaged: Option<String>,
}

impl InstanceMeta {
    /// Whether nothing keeps the instance from going on without an event: no incident holds its
    /// start or its slice, and it is not suspended.
    pub const fn may_go_on(&self) -> bool {
        self.held.is_none() && self.suspended.is_none()
    }
}

/// The suspension of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Suspension {
    /// When it began.
    #[n(0)]
    pub since: Timestamp,
    /// Actor and reason.
    #[n(1)]
    pub audit: AuditInfo,
    /// What its timers do meanwhile.
    #[n(2)]
    pub timers: SuspendedTimers,
    /// The timers that the suspension froze, and that its end releases.
    #[n(3)]
    pub frozen: Vec<Key>,
}

/// The message channel an instance was started from.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct StartedBy {
    /// The message's name.
    #[n(0)]
    pub name: String,
    /// Its correlation key.
    #[n(1)]
    pub key: String,
    /// Other messages that start the same definition with the same key.
    #[n(2)]
    #[cbor(default)]
    pub others: Vec<String>,
}

impl StartedBy {
    /// The channels whose messages wait until the key is free.
    pub fn channels(&self) -> Vec<ChannelKey> {
        let names = std::iter::once(&self.name).chain(&self.others);
        names.map(|name| ChannelKey::message(name, &self.key)).collect()
    }
}

/// The position of a child in its tree.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Lineage {
    /// The effect of the parent that started it.
    #[n(0)]
    pub parent: EffectKey,
    /// The top of the tree.
    #[n(1)]
    pub root: InstanceId,
    /// Levels below the root.
    #[n(2)]
    pub depth: u32,
    /// Error codes that some ancestor catches.
    #[n(3)]
    pub catches: Vec<String>,
    /// What happens to it when the parent ends.
    #[n(4)]
    pub close: ParentClose,
    /// Whether it passes its context to the parent at its end (S6).
    #[n(5)]
    pub hands_on: bool,
    /// Whether it survives the end of the root: it, or an ancestor below the root, was abandoned.
    #[n(6)]
    #[cbor(default)]
    pub is_abandoned: bool,
}

/// A child, as its parent knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildRef {
    /// The effect that started it.
    pub key: EffectKey,
    /// The child.
    pub id: InstanceId,
    /// What happens to it when the parent ends.
    pub close: ParentClose,
}

/// A stored event that waits for a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxRow {
    /// The instance.
    pub instance: InstanceId,
    /// Its number in the inbox.
    pub seq: u64,
    /// When it arrived.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
    /// The message it was made from, which is returned if the event is not taken.
    pub origin: Option<MessageRow>,
    /// The incident that holds it until a retry.
    pub held: Option<IncidentId>,
}

/// The outcome of an occurrence of a schedule: a row of its ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceRow {
    /// The schedule.
    pub schedule: InstanceId,
    /// The occurrence and its outcome; unique for each schedule and first occurrence (S2).
    pub occurrence: meantime_core::Occurrence,
    /// The run that was started.
    pub instance: Option<InstanceId>,
    /// When it was decided.
    pub decided_at: Timestamp,
}

/// The key of a ledger row within its schedule: an occurrence that was missed and filled back later
/// has two rows, but never two starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OccurrenceKey {
    /// The occurrence.
    pub scheduled_at: Timestamp,
    /// Whether it is the row of a start.
    pub is_start: bool,
}

impl OccurrenceRow {
    /// The key of the row.
    pub fn key(&self) -> OccurrenceKey {
        let is_start = self.occurrence.outcome == meantime_core::OccurrenceOutcome::Started;
        OccurrenceKey { scheduled_at: self.occurrence.scheduled_at, is_start }
    }
}

/// The kind of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum TimerKind {
    /// An element of the definition waits for it.
    #[n(0)]
    Element,
    /// The instance's deadline.
    #[n(1)]
    Deadline,
    /// The deadline over all attempts of a task.
    #[n(2)]
    TaskDeadline,
}

impl TimerKind {
    /// The name in SQL, JSON and sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Element => "timer",
            Self::Deadline => "deadline",
            Self::TaskDeadline => "taskDeadline",
        }
    }
}

/// An armed timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerRow {
    /// Its id.
    pub id: TimerId,
    /// When it is due; kept while frozen.
    pub due_at: Timestamp,
    /// A frozen timer does not fire.
    pub frozen: bool,
    /// Its kind.
    pub kind: TimerKind,
    /// The definition, for lists.
    pub definition: DefinitionId,
    /// The element.
    pub element: String,
}

/// The key of a timer row: rows that can fire come first, in due order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct TimerKey {
    /// Frozen rows form a range of their own.
    #[n(0)]
    pub frozen: bool,
    /// When it is due.
    #[n(1)]
    pub due_at: Timestamp,
    /// The timer.
    #[n(2)]
    pub id: TimerId,
}

impl TimerRow {
    /// The row's key.
    pub const fn key(&self) -> TimerKey {
        TimerKey { frozen: self.frozen, due_at: self.due_at, id: self.id }
    }
}

impl TaskRow {
    /// The idempotency key for other systems, the same for every attempt.
    pub fn idempotency_key(&self) -> String {
        crate::idempotency::idempotency_key(self.id, &self.spec.name, &self.spec.input)
    }
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskState {
    /// It can be claimed from `available_at` on.
    Ready,
    /// A worker has a lease.
    Leased,
    /// An incident holds it.
    Held,
    /// It has ended and was detached; kept until retention.
    Done,
}

impl TaskState {
    /// Every state with its stored name.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Ready, "ready"),
        (Self::Leased, "leased"),
        (Self::Held, "held"),
        (Self::Done, "done"),
    ];

    /// The stored name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("ready", |(_, name)| name)
    }

    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(state, _)| *state)
    }
}

/// A task that has not ended, or that has ended and was detached.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// What is to be done.
    pub spec: TaskSpec,
    /// The definition, for lists.
    pub definition: DefinitionId,
    /// Where it stands.
    pub state: TaskState,
    /// When it can be claimed, first or again after a failure; for a leased task, when it was
    /// claimed; for a finished one, when it ended.
    pub available_at: Timestamp,
    /// When it was scheduled.
    pub created_at: Timestamp,
    /// The earlier of the task's and the instance's deadline (D3, D6).
    pub deadline_at: Option<Timestamp>,
    /// The number of claims so far. Together with the epoch of the store it is the token that every
    /// report must name (I5).
    pub claims: u32,
    /// Attempts that count towards its retry policy.
    pub attempt: u32,
    /// Lease expiries in a row.
    pub expiries: u32,
    /// The lease, while it is valid or until the task is claimed again.
    pub lease: Option<LeaseRow>,
    /// The person a user task is assigned to.
    pub assignee: Option<String>,
    /// How its last attempt failed; for a finished detached task, its outcome.
    pub outcome: Option<TaskOutcome>,
}

impl TaskRow {
    /// A task that can be claimed at once.
    pub fn ready(id: TaskId, spec: TaskSpec, definition: DefinitionId, now: Timestamp) -> Self {
        Self {
            id,
            assignee: spec.assignee.clone(),
            spec,
            definition,
            state: TaskState::Ready,
            available_at: now,
            created_at: now,
            deadline_at: None,
            claims: 0,
            attempt: 0,
            expiries: 0,
            lease: None,
            outcome: None,
        }
    }
}

/// A lease on a task.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LeaseRow {
    /// The worker.
    #[n(0)]
    pub worker: String,
    /// Real time at which it expires.
    #[n(1)]
    pub until: Timestamp,
    /// Engine time at which the attempt times out, if it has a timeout.
    #[n(2)]
    pub timeout_at: Option<Timestamp>,
}

/// A stored message or signal.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MessageRow {
    /// The channel.
    #[n(0)]
    pub channel: ChannelKey,
    /// Its number in the channel.
    #[n(1)]
    pub seq: u64,
    /// The payload.
    #[n(2)]
    pub payload: Json,
    /// When it expires; `None` means never.
    #[n(3)]
    pub expires_at: Option<Timestamp>,
    /// The definitions that have received it: each gets a message once.
    #[n(4)]
    #[cbor(default)]
    pub had: Vec<String>,
}

impl MessageRow {
    /// Whether a definition has received it.
    pub fn was_had_by(&self, definition: &str) -> bool {
        self.had.iter().any(|name| name == definition)
    }
}

/// A subscription to a message or a broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRow {
    /// The channel.
    pub channel: ChannelKey,
    /// Its number among the subscriptions of the channel.
    pub seq: u64,
    /// The effect that subscribed.
    pub key: EffectKey,
    /// The name of its definition: one instance of each gets a message.
    pub definition: String,
}

/// The identity of a channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct ChannelKey {
    /// The kind of the channel.
    #[n(0)]
    pub kind: ChannelKind,
    /// The correlation key; for signals the instance's id as text.
    #[n(1)]
    pub key: String,
    /// The name of the signal or message.
    #[n(2)]
    pub name: String,
}

/// The kind of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum ChannelKind {
    /// Signals to one instance.
    #[n(0)]
    Signal,
    /// Correlated messages.
    #[n(1)]
    Message,
    /// Broadcasts.
    #[n(2)]
    Broadcast,
}

impl ChannelKind {
    /// The stored name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::Message => "message",
            Self::Broadcast => "broadcast",
        }
    }
}

impl ChannelKey {
    /// The channel that a subscription of an instance listens on.
    pub fn of(instance: InstanceId, channel: &Channel) -> Self {
        match channel {
            Channel::Signal { name } => Self::signal(instance, name),
            Channel::Message { name, key } => Self::message(name, key),
            Channel::Broadcast { name } => Self::broadcast(name),
        }
    }

    /// The signals of one name to one instance.
    pub fn signal(instance: InstanceId, name: &str) -> Self {
        Self { kind: ChannelKind::Signal, key: instance.to_string(), name: name.to_owned() }
    }

    /// The messages of one name and correlation key.
    pub fn message(name: &str, key: &str) -> Self {
        Self { kind: ChannelKind::Message, key: key.to_owned(), name: name.to_owned() }
    }

    /// The broadcasts of one name.
    pub fn broadcast(name: &str) -> Self {
        Self { kind: ChannelKind::Broadcast, key: String::new(), name: name.to_owned() }
    }
}

/// An open incident.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentRow {
    /// Its id.
    pub id: IncidentId,
    /// The instance.
    pub instance: InstanceId,
    /// Its cause.
    pub cause: IncidentCause,
    /// The element, if it is known.
    pub element: String,
    /// The failure.
    pub failure: Failure,
    /// When.
    pub raised_at: Timestamp,
}

/// The cause of an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum IncidentCause {
    /// An element of the definition (`Effect::Incident`).
    #[n(0)]
    Element(#[n(0)] EffectKey),
    /// A turn that could not be computed; its event is held.
    #[n(1)]
    Turn,
    /// A task whose leases keep expiring.
    #[n(2)]
    Task(#[n(0)] EffectKey),
    /// Rows of the instance that cannot be decoded. It is not counted in the row, because the row
    /// is not written. Also used for an incident whose own cause cannot be decoded.
    #[n(3)]
    Damage,
}

/// The history records of one turn, linked to the row before.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRow {
    /// Its number in the history of the store; increasing.
    pub seq: u64,
    /// The instance.
    pub instance: InstanceId,
    /// The turn it belongs to.
    pub turn_no: u64,
    /// When.
    pub at: Timestamp,
    /// The number of the instance's previous row; 0 for the first.
    pub previous: u64,
    /// The records.
    pub records: Vec<Record>,
}

/// A deployed version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionRow {
    /// Its number in this store.
    pub id: DefinitionId,
    /// The name.
    pub name: String,
    /// 1, 2, 3… per name.
    pub version: u32,
    /// The name of its notation.
    pub notation: String,
    /// The author's own version text.
    pub label: Option<String>,
    /// SHA-256 of the source bytes and the files it refers to, in hex.
    pub hash: String,
    /// When it was deployed.
    pub deployed_at: Timestamp,
    /// The name of the source file.
    pub source_name: String,
    /// The source, byte for byte.
    pub source: std::sync::Arc<str>,
    /// The files it refers to.
    pub files: Vec<SourceFile>,
    /// Its triggers.
    pub triggers: Vec<Trigger>,
    /// Whether it is undeployed: it starts no new instances, and running ones continue.
    pub retired: bool,
    /// The pause of its name, while it lasts.
    pub paused: Option<DefinitionPause>,
}

/// The pause of a definition: no version of it starts new instances.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DefinitionPause {
    /// When it began.
    #[n(0)]
    pub since: Timestamp,
    /// Actor and reason.
    #[n(1)]
    pub audit: AuditInfo,
}

/// The remembered answer to an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRow {
    /// The caller's key.
    pub key: String,
    /// A hash of the request, to distinguish a repetition from a different request.
    pub request: u64,
    /// The instance that the command started.
    pub instance: InstanceId,
    /// When it may be deleted.
    pub expires_at: Timestamp,
}
