//! What a turn wants done. Committed with the turn, performed after it (I1).
//!
//! The position of an effect in the turn's list is its ordinal, which with the instance and the
//! turn number makes its [`EffectKey`].

use minicbor::{Decode, Encode};

use crate::{EffectKey, Failure, IncidentId, Json, RetryPolicy, Timestamp};

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Gives work to a worker, to the engine or to a person.
    ScheduleTask(TaskSpec),
    /// Cancels a task. Its worker learns so when it reports.
    CancelTask {
        /// The task.
        key: EffectKey,
    },
    /// Arms a timer. The instant is fixed here, once (I4).
    StartTimer {
        /// Where in the definition, with its scope path.
        element: String,
        /// When it falls due. An instant in the past fires at once (T7).
        due_at: Timestamp,
    },
    /// Removes a timer in this very turn (T9).
    CancelTimer {
        /// The timer.
        key: EffectKey,
    },
    /// Waits for one signal or message. A delivery uses the subscription up.
    Subscribe {
        /// Where in the definition.
        element: String,
        /// What to wait for.
        channel: Channel,
    },
    /// Stops waiting.
    Unsubscribe {
        /// The subscription.
        key: EffectKey,
    },
    /// Sends a message to whoever waits for it, now or within its time to live.
    PublishMessage(Message),
    /// Sends a signal to everyone who waits for it now.
    Broadcast {
        /// The signal's name.
        name: String,
        /// What is sent.
        payload: Json,
    },
    /// Starts a child. Answers only when it cannot (`EffectDone` with a conflict).
    StartChild(ChildSpec),
    /// Makes a schedule, or changes one. Answers in any case.
    PutSchedule {
        /// The schedule.
        spec: Box<crate::ScheduleSpec>,
        /// What to do when one of the same identity is active.
        on_existing: crate::OnExisting,
    },
    /// Ends a schedule; runs that are going go on.
    CancelSchedule {
        /// Which.
        schedule: crate::InstanceId,
    },
    /// Writes into the ledger what became of one occurrence, or of a range of occurrences.
    Occurrence(Occurrence),
    /// Asks a child to end. It ends with `ChildDone`.
    CancelChild {
        /// The effect that started it.
        key: EffectKey,
    },
    /// Raises an error or escalation that an ancestor catches.
    NotifyParent {
        /// What is raised.
        raised: Failure,
    },
    /// Writes attributes that people can query by.
    SetAttributes(Vec<Attribute>),
    /// Adds tags to those given at the start.
    AddTags(Vec<String>),
    /// What a surface still shows of the instance when it is over, besides its outcome. The last
    /// one counts.
    Summary(Json),
    /// Writes a line into the instance's history.
    Record {
        /// What kind of line.
        kind: String,
        /// Its content.
        data: Json,
    },
    /// Parks one place; the rest of the instance goes on.
    Incident {
        /// Where.
        element: String,
        /// What happened.
        failure: Failure,
    },
    /// The place of an incident was left without a retry, so there is nothing to retry any more.
    CancelIncident {
        /// The effect that raised it.
        key: EffectKey,
    },
    /// The place goes on: its incident is over.
    ResolveIncident {
        /// The incident.
        incident: IncidentId,
    },
}

/// Work for somebody.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TaskSpec {
    /// Who does it.
    #[n(0)]
    pub kind: TaskKind,
    /// The type a worker asks for.
    #[n(1)]
    pub name: String,
    /// Where in the definition.
    #[n(2)]
    pub element: String,
    /// The queue; empty is the default queue.
    #[n(3)]
    pub queue: String,
    /// Higher goes first.
    #[n(4)]
    pub priority: i32,
    /// Nobody awaits it: its outcome is recorded, no event follows.
    #[n(5)]
    pub detached: bool,
    /// What the worker gets.
    #[n(6)]
    pub input: Json,
    /// Static headers for the worker (a JSON object), or nothing.
    #[n(7)]
    pub headers: Option<Json>,
    /// How it is tried again.
    #[n(8)]
    pub retry: RetryPolicy,
    /// Longest duration of one attempt, in milliseconds.
    #[n(9)]
    pub timeout_ms: Option<u64>,
    /// The instant by which all attempts must be over.
    #[n(10)]
    pub deadline_at: Option<Timestamp>,
    /// Whose task it is from the beginning, when it is for a person.
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
    /// The engine itself, such as an outbound HTTP call.
    #[n(1)]
    Engine,
    /// A person.
    #[n(2)]
    User,
}

/// Where signals and messages meet those who wait for them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Channel {
    /// Signals sent to this instance; kept in order until taken.
    #[n(0)]
    Signal {
        /// The signal's name.
        #[n(0)]
        name: String,
    },
    /// Messages by name and correlation key; kept for their time to live.
    #[n(1)]
    Message {
        /// The message's name.
        #[n(0)]
        name: String,
        /// The correlation key.
        #[n(1)]
        key: String,
    },
    /// Broadcast signals; never kept.
    #[n(2)]
    Broadcast {
        /// The signal's name.
        #[n(0)]
        name: String,
    },
}

impl Channel {
    /// The name people know it by.
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
    /// The correlation key; empty when there is none.
    pub key: String,
    /// What is sent.
    pub payload: Json,
    /// How long it is kept when nobody waits; zero is not at all.
    pub ttl_ms: Option<u64>,
    /// De-duplicates: a second message with the same id is dropped.
    pub id: Option<String>,
}

/// A child to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSpec {
    /// Where in the definition.
    pub element: String,
    /// The name of the definition, of any notation.
    pub definition: String,
    /// Which version; none is the latest at the commit.
    pub version: Option<u32>,
    /// The latest version that carries this label, when no version is named.
    pub label: Option<String>,
    /// What the child gets.
    pub input: Json,
    /// Its business key, unique among live instances of the definition.
    pub key: Option<String>,
    /// Where it begins, when not at its own start.
    pub at: Option<String>,
    /// A context handed on from an earlier run; its end hands its own back (S6).
    pub context: Option<Json>,
    /// The occurrence of a schedule that it is for: unique for each schedule (S2).
    pub scheduled_at: Option<Timestamp>,
    /// Its own deadline; never later than the parent's (D6).
    pub deadline_at: Option<Timestamp>,
    /// Bound by `deadline_at` alone: neither by the parent's deadline nor by what its definition
    /// declares (D8).
    pub own_budget: bool,
    /// Error codes that this parent catches. The kernel adds those of its ancestors; an
    /// abandoned child has none.
    pub catches: Vec<String>,
    /// What becomes of it when the parent ends.
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

/// What became of one occurrence of a schedule, or of several in a row.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Occurrence {
    /// The first occurrence.
    #[n(0)]
    pub scheduled_at: Timestamp,
    /// The last one; the same when it is one.
    #[n(1)]
    pub last_at: Timestamp,
    /// How many.
    #[n(2)]
    pub count: u64,
    /// What became of them.
    #[n(3)]
    pub outcome: OccurrenceOutcome,
    /// Why, in words.
    #[n(4)]
    pub reason: String,
}

/// What became of an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum OccurrenceOutcome {
    /// A run was started for it.
    #[n(0)]
    Started,
    /// The run before was still going, or no more runs were allowed.
    #[n(1)]
    Skipped,
    /// Nobody was there, and the policy wants no run for it.
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

/// What becomes of a child when its parent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum ParentClose {
    /// It is cancelled, however the parent ends.
    #[n(0)]
    Cancel,
    /// It runs on after a normal end; it is cancelled after any other.
    #[n(1)]
    Detach,
    /// It runs on in any case.
    #[n(2)]
    Abandon,
}

/// A name and a value to find the instance by.
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
