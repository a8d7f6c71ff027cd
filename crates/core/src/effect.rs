//! Effects: what a turn requests. They are committed with the turn and performed after it (I1).
//!
//! The position of an effect in the turn's list is its ordinal, which with the instance and the
//! turn number makes its [`EffectKey`].

use minicbor::{Decode, Encode};

use crate::{EffectKey, Failure, IncidentId, Json, RetryPolicy, Timestamp};

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Schedules a task for a worker, the engine or a person.
    ScheduleTask(TaskSpec),
    /// Cancels a task. Its worker learns it from the answer to its next report.
    CancelTask {
        /// The task.
        key: EffectKey,
    },
    /// Arms a timer. The instant is fixed here, once (I4).
    StartTimer {
        /// The element, with its scope path.
        element: String,
        /// When it falls due. An instant in the past fires at once (T7).
        due_at: Timestamp,
    },
    /// Cancels a timer in this turn (T9).
    CancelTimer {
        /// The timer.
        key: EffectKey,
    },
    /// Waits for one signal or message. A delivery uses the subscription up.
    Subscribe {
        /// The element.
        element: String,
        /// The channel.
        channel: Channel,
    },
    /// Ends a subscription.
    Unsubscribe {
        /// The subscription.
        key: EffectKey,
    },
    /// Publishes a message to instances that wait for it, now or within its time to live.
    PublishMessage(Message),
    /// Sends a broadcast to all instances that wait for it now.
    Broadcast {
        /// The name of the broadcast.
        name: String,
        /// The payload.
        payload: Json,
    },
    /// Starts a child. It is answered only if that fails (`EffectDone` with a conflict).
    StartChild(ChildSpec),
    /// Creates or changes a schedule. It is always answered.
    PutSchedule {
        /// The schedule.
        spec: Box<crate::ScheduleSpec>,
        /// What to do if a schedule with the same identity is active.
        on_existing: crate::OnExisting,
    },
    /// Cancels a schedule; its running instances continue.
    CancelSchedule {
        /// The schedule.
        schedule: crate::InstanceId,
    },
    /// Writes the outcome of one occurrence, or of a range of occurrences, to the ledger.
    Occurrence(Occurrence),
    /// Cancels a child. It ends with `ChildDone`.
    CancelChild {
        /// The effect that started it.
        key: EffectKey,
    },
    /// Raises an error or escalation that an ancestor catches.
    NotifyParent {
        /// The error.
        raised: Failure,
    },
    /// Sets attributes by which the instance can be found.
    SetAttributes(Vec<Attribute>),
    /// Adds tags to those given at the start.
    AddTags(Vec<String>),
    /// What a surface shows of the instance after its end, besides its outcome. The last one
    /// counts.
    Summary(Json),
    /// Writes a record to the history of the instance.
    Record {
        /// The kind of record.
        kind: String,
        /// Its content.
        data: Json,
    },
    /// Opens an incident for one element; the rest of the instance continues.
    Incident {
        /// The element.
        element: String,
        /// The failure.
        failure: Failure,
    },
    /// Closes the incident of an element that was left without a retry.
    CancelIncident {
        /// The effect that raised it.
        key: EffectKey,
    },
    /// Closes an incident whose element continues.
    ResolveIncident {
        /// The incident.
        incident: IncidentId,
    },
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TaskSpec {
    /// Who does the task.
    #[n(0)]
    pub kind: TaskKind,
    /// The type that workers claim.
    #[n(1)]
    pub name: String,
    /// The element.
    #[n(2)]
    pub element: String,
    /// The queue; empty means the default queue.
    #[n(3)]
    pub queue: String,
    /// Tasks with a higher priority are claimed first.
    #[n(4)]
    pub priority: i32,
    /// The instance does not wait for it: its outcome is recorded without an event.
    #[n(5)]
    pub detached: bool,
    /// The input for the worker.
    #[n(6)]
    pub input: Json,
    /// Static headers for the worker (a JSON object).
    #[n(7)]
    pub headers: Option<Json>,
    /// The retry policy.
    #[n(8)]
    pub retry: RetryPolicy,
    /// Longest duration of one attempt, in milliseconds.
    #[n(9)]
    pub timeout_ms: Option<u64>,
    /// The instant by which all attempts must have ended.
    #[n(10)]
    pub deadline_at: Option<Timestamp>,
    /// The initial assignee of a user task.
    #[n(11)]
    pub assignee: Option<String>,
}

impl TaskSpec {
    /// A task for workers with default settings.
    pub fn worker(name: impl Into<String>, element: impl Into<String>, input: Json) -> Self {
        Self {
            kind: TaskKind::Worker,
            name: name.into(),
            element: element.into(),
            queue: String::new(),
            priority: 0,
            detached: false,
            input,
            headers: None,
            retry: RetryPolicy::default(),
            timeout_ms: None,
            deadline_at: None,
            assignee: None,
        }
    }
}

/// Who does a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum TaskKind {
    /// A worker that claims it.
    #[n(0)]
    Worker,
    /// The engine itself, for example an outbound HTTP call.
    #[n(1)]
    Engine,
    /// A person.
    #[n(2)]
    User,
}

/// A channel: where signals and messages are matched with subscriptions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Channel {
    /// Signals sent to this instance; buffered in order until they are taken.
    #[n(0)]
    Signal {
        /// The signal's name.
        #[n(0)]
        name: String,
    },
    /// Messages by name and correlation key; buffered for their time to live.
    #[n(1)]
    Message {
        /// The message's name.
        #[n(0)]
        name: String,
        /// The correlation key.
        #[n(1)]
        key: String,
    },
    /// Broadcasts; never buffered.
    #[n(2)]
    Broadcast {
        /// The name of the broadcast.
        #[n(0)]
        name: String,
    },
}

impl Channel {
    /// The name of the signal, message or broadcast.
    pub fn name(&self) -> &str {
        match self {
            Self::Signal { name } | Self::Message { name, .. } | Self::Broadcast { name } => name,
        }
    }
}

/// A message to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The message's name.
    pub name: String,
    /// The correlation key; empty if there is none.
    pub key: String,
    /// The payload.
    pub payload: Json,
    /// How long it is buffered, in milliseconds; zero means not at all.
    pub ttl_ms: Option<u64>,
    /// A deduplication id: a second message with the same id is dropped.
    pub id: Option<String>,
}

/// A child to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSpec {
    /// The element.
    pub element: String,
    /// The name of the definition, of any notation.
    pub definition: String,
    /// The version; `None` means the latest at the commit.
    pub version: Option<u32>,
    /// The latest version with this label, if no version is named.
    pub label: Option<String>,
    /// The input.
    pub input: Json,
    /// Its business key, unique among live instances of the definition.
    pub key: Option<String>,
    /// The element where it begins, if not at its own start.
    pub at: Option<String>,
    /// A context from an earlier run; at its end it passes its own context back (S6).
    pub context: Option<Json>,
    /// The occurrence of a schedule that it is for; unique for each schedule (S2).
    pub scheduled_at: Option<Timestamp>,
    /// Its own deadline; never later than the parent's (D6).
    pub deadline_at: Option<Timestamp>,
    /// Whether only `deadline_at` limits it: neither the parent's deadline nor that of its
    /// definition applies (D8).
    pub own_budget: bool,
    /// Error codes that this parent catches. The kernel adds those of its ancestors; an abandoned
    /// child has none.
    pub catches: Vec<String>,
    /// What happens to it when the parent ends.
    pub parent_close: ParentClose,
}

impl ChildSpec {
    /// A child with default settings.
    pub fn new(definition: impl Into<String>, element: impl Into<String>, input: Json) -> Self {
        Self {
            element: element.into(),
            definition: definition.into(),
            version: None,
            label: None,
            input,
            key: None,
            at: None,
            context: None,
            scheduled_at: None,
            deadline_at: None,
            own_budget: false,
            catches: Vec::new(),
            parent_close: ParentClose::Cancel,
        }
    }
}

/// The outcome of one occurrence of a schedule, or of several in a row.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Occurrence {
    /// The first occurrence.
    #[n(0)]
    pub scheduled_at: Timestamp,
    /// The last occurrence; the same as the first if there is only one.
    #[n(1)]
    pub last_at: Timestamp,
    /// The number of occurrences.
    #[n(2)]
    pub count: u64,
    /// The outcome.
    #[n(3)]
    pub outcome: OccurrenceOutcome,
    /// The reason, as text.
    #[n(4)]
    pub reason: String,
}

/// The outcome of an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum OccurrenceOutcome {
    /// A run was started for it.
    #[n(0)]
    Started,
    /// The previous run had not ended, or no more runs were allowed.
    #[n(1)]
    Skipped,
    /// It passed during downtime or a pause, and the policy starts no run for it.
    #[n(2)]
    Missed,
    /// It could not be started.
    #[n(3)]
    Failed,
}

impl OccurrenceOutcome {
    /// The name in SQL, JSON and sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
            Self::Failed => "failed",
        }
    }
}

/// What happens to a child when its parent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum ParentClose {
    /// It is cancelled, whatever the parent's outcome is.
    #[n(0)]
    Cancel,
    /// It continues after a normal end of the parent, and is cancelled after any other.
    #[n(1)]
    Detach,
    /// It continues in any case.
    #[n(2)]
    Abandon,
}

/// An attribute by which the instance can be found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Attribute {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Its value.
    #[n(1)]
    pub value: String,
}

impl Effect {
    /// The name of the effect in traces and history.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ScheduleTask(_) => "scheduleTask",
            Self::CancelTask { .. } => "cancelTask",
            Self::StartTimer { .. } => "startTimer",
            Self::CancelTimer { .. } => "cancelTimer",
            Self::Subscribe { .. } => "subscribe",
            Self::Unsubscribe { .. } => "unsubscribe",
            Self::PublishMessage(_) => "publishMessage",
            Self::Broadcast { .. } => "broadcast",
            Self::StartChild(_) => "startChild",
            Self::PutSchedule { .. } => "putSchedule",
            Self::CancelSchedule { .. } => "cancelSchedule",
            Self::Occurrence(_) => "occurrence",
            Self::CancelChild { .. } => "cancelChild",
            Self::NotifyParent { .. } => "notifyParent",
            Self::SetAttributes(_) => "setAttributes",
            Self::AddTags(_) => "addTags",
            Self::Summary(_) => "summary",
            Self::Record { .. } => "record",
            Self::Incident { .. } => "incident",
            Self::CancelIncident { .. } => "cancelIncident",
            Self::ResolveIncident { .. } => "resolveIncident",
        }
    }
}
