//! What callers may ask of the kernel, and what they are told.

use std::sync::Arc;

use meantime_core::{
    Definition, Failure, IncidentId, InstanceId, Json, Message, OnExisting, ScheduleChange,
    ScheduleSpec, Source, TaskId, Thrown, TimerId, Timestamp,
};

use crate::history::AuditInfo;
use crate::store;

/// One request.
#[derive(Debug, Clone)]
pub enum Command {
    /// Adds definitions, all or nothing.
    Deploy(Deployment),
    /// Retires a version; instances that run it go on.
    Undeploy {
        /// The name.
        name: String,
        /// The version.
        version: u32,
    },
    /// Starts an instance.
    Start(StartCommand),
    /// Makes a schedule, or changes the one of the same identity.
    PutSchedule {
        /// The schedule.
        spec: Box<ScheduleSpec>,
        /// What to do when one is active.
        on_existing: OnExisting,
    },
    /// An operator's hand on a schedule: pause, resume, trigger, back-fill, change (S14).
    Schedule {
        /// Which.
        schedule: InstanceId,
        /// What to do.
        action: ScheduleAction,
        /// Who and why.
        audit: AuditInfo,
    },
    /// Sends a signal to one instance.
    Signal {
        /// To whom.
        instance: InstanceId,
        /// The signal's name.
        name: String,
        /// What is sent.
        payload: Json,
    },
    /// Publishes a message.
    Publish(Message),
    /// Sends a signal to everyone who waits for it.
    Broadcast {
        /// The signal's name.
        name: String,
        /// What is sent.
        payload: Json,
    },
    /// Input for a step.
    Submit {
        /// To whom.
        instance: InstanceId,
        /// The step.
        step: String,
        /// The body.
        payload: Json,
        /// What a surface read from the request besides its body.
        bound: Option<Json>,
    },
    /// Ends an instance. Cancelling what is over changes nothing.
    Cancel {
        /// Which.
        instance: InstanceId,
        /// Who and why.
        audit: AuditInfo,
    },
    /// Does nothing to an instance: with [`Wait::Ended`] it is answered when that is over.
    Await {
        /// Which.
        instance: InstanceId,
    },
    /// An operator's correction of variables.
    SetVariables {
        /// Which.
        instance: InstanceId,
        /// A JSON object of new values.
        values: Json,
        /// The scope they live in; none is the root.
        scope: Option<String>,
        /// Who and why.
        audit: AuditInfo,
    },
    /// A worker asks for tasks.
    Claim(ClaimCommand),
    /// A worker, the engine or a person reports on a task.
    Report {
        /// The task.
        task: TaskId,
        /// The lease token; people have none.
        token: Option<LeaseToken>,
        /// What they say.
        report: Report,
    },
    /// A worker needs more time.
    Extend {
        /// The task.
        task: TaskId,
        /// The lease token.
        token: LeaseToken,
        /// How long from now.
        lease_ms: u64,
    },
    /// A worker gives a task back that it never began: it counts as not claimed.
    Release {
        /// The task.
        task: TaskId,
        /// The lease token.
        token: LeaseToken,
    },
    /// Gives a user task to a person, or to nobody.
    Assign {
        /// The task.
        task: TaskId,
        /// The person.
        assignee: Option<String>,
    },
    /// Tries what an incident stopped once more.
    RetryIncident {
        /// Which.
        incident: IncidentId,
        /// Who and why.
        audit: AuditInfo,
    },
    /// Ends what an incident stopped, with what it would have ended with.
    ResolveIncident {
        /// Which.
        incident: IncidentId,
        /// A JSON object of variables.
        variables: Json,
        /// Who and why.
        audit: AuditInfo,
    },
    /// Moves, fires, freezes or releases a timer or a deadline (O1).
    EditTimer {
        /// Which.
        timer: TimerId,
        /// What to do.
        edit: TimerEdit,
        /// Who and why.
        audit: AuditInfo,
    },
    /// Confirms that a restored copy may act. Without effect on a kernel that is not paused.
    Resume {
        /// Who and why.
        audit: AuditInfo,
    },
}

/// Compiled definitions to deploy together.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// The notation's name.
    pub notation: String,
    /// The source, kept byte for byte.
    pub source: Source,
    /// What it compiled to.
    pub definitions: Vec<Arc<Definition>>,
}

/// A start.
#[derive(Debug, Clone, Default)]
pub struct StartCommand {
    /// The definition's name.
    pub definition: String,
    /// Which version; none is the latest.
    pub version: Option<u32>,
    /// The input.
    pub input: Json,
    /// Where it begins, if not at the beginning; in the terms of its notation.
    pub at: Option<String>,
    /// What a surface read from the request besides the input.
    pub bound: Option<Json>,
    /// A business key, unique among live instances of the definition.
    pub key: Option<String>,
    /// When it must be over.
    pub deadline_at: Option<Timestamp>,
    /// The same as the caller put it, where that was a duration: whoever repeats the request says
    /// the same words, which mean a later instant by then.
    pub deadline_after: Option<String>,
    /// Tags to find it by.
    pub tags: Vec<String>,
    /// Makes a repetition harmless.
    pub idempotency: Option<String>,
}

/// A worker asks for tasks.
#[derive(Debug, Clone, Default)]
pub struct ClaimCommand {
    /// Who asks.
    pub worker: String,
    /// Types it can do; empty is any.
    pub types: Vec<String>,
    /// Queues it serves; empty is the default queue.
    pub queues: Vec<String>,
    /// How many at most.
    pub max: usize,
    /// For how long.
    pub lease_ms: u64,
    /// How long to wait when there is nothing to do.
    pub wait_ms: u64,
}

/// The fence of a claimed task: not a credential (I5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseToken {
    /// The store's epoch.
    pub epoch: u32,
    /// How often the task was claimed.
    pub claims: u32,
}

/// What a worker says of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// It is done.
    Completed(Json),
    /// It did not work.
    Failed {
        /// The error.
        failure: Failure,
        /// Whether another attempt may help.
        retryable: bool,
        /// How long to wait before it.
        retry_after_ms: Option<u64>,
        /// A business error thrown on purpose.
        thrown: Option<Thrown>,
    },
}

/// The code of a schedule that breaks a rule (S11).
pub const SCHEDULE_INVALID: &str = "SCHEDULE_INVALID";

/// The code of a change that was made on condition of a generation that is gone (S15).
pub const SCHEDULE_CHANGED: &str = "SCHEDULE_CHANGED";

/// What to do to a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleAction {
    /// No occurrences until it is resumed.
    Pause,
    /// Occurrences again; what passed in between is missed, and treated as the policy says.
    Resume,
    /// One run now. It counts as a run.
    Trigger,
    /// A run for every occurrence of a range that had none.
    Backfill {
        /// From this instant on.
        from: Timestamp,
        /// Up to this one, not included.
        to: Timestamp,
    },
    /// Another rule, limit or policy, from now on; the count of runs stays.
    Change(Box<ScheduleChange>),
}

impl ScheduleAction {
    /// The action as a step of the built-in definition: its name and its body.
    pub fn step(&self) -> (&'static str, Json) {
        match self {
            Self::Pause => ("pause", Json::null()),
            Self::Resume => ("resume", Json::null()),
            Self::Trigger => ("trigger", Json::null()),
            Self::Backfill { from, to } => ("backfill", Json::of(&[from, to]).unwrap_or_default()),
            Self::Change(change) => ("change", Json::of(change).unwrap_or_default()),
        }
    }
}

/// What to do to a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerEdit {
    /// Due at another instant.
    Move(Timestamp),
    /// Due now.
    Fire,
    /// Not due while frozen; the instant is kept.
    Freeze,
    /// Due again; at once if the instant has passed.
    Release,
}

/// When a caller is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// After the turn that took the command, and all that follow by themselves.
    #[default]
    Quiet,
    /// When the instance waits only for time, signals, messages, steps or people, or is over.
    Idle,
    /// When the instance is over.
    Ended,
}

/// The answer to a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// It is done.
    Done,
    /// Definitions, with version and whether each is new.
    Deployed(Vec<Deployed>),
    /// The instance; `repeated` when an earlier request had started it.
    Started {
        /// Which.
        instance: InstanceId,
        /// Whether it was there already.
        repeated: bool,
        /// How it stood when it was answered; none when the store must be asked.
        row: Option<Box<store::InstanceRow>>,
    },
    /// The schedule that was made or changed.
    Scheduled {
        /// Which.
        schedule: InstanceId,
    },
    /// What became of a message.
    Published {
        /// Who got it, or was started by it.
        delivered: Vec<InstanceId>,
        /// Whether it is kept for somebody.
        kept: bool,
        /// Whether its id was seen before, so that it was dropped.
        duplicate: bool,
    },
    /// A step was taken.
    Submitted {
        /// The projected answer.
        reply: Option<Json>,
    },
    /// Tasks for a worker.
    Tasks(Vec<ClaimedTask>),
    /// The new end of a lease.
    Extended {
        /// In real time.
        until: Timestamp,
    },
}

/// A deployed definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployed {
    /// The name.
    pub name: String,
    /// The version.
    pub version: u32,
    /// The content's hash.
    pub hash: String,
    /// Whether it is new; identical content is the same version.
    pub new: bool,
}

/// A task in a worker's hands.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedTask {
    /// The task.
    pub id: TaskId,
    /// Its type.
    pub name: String,
    /// What the worker gets.
    pub input: Json,
    /// Static headers.
    pub headers: Option<Json>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The fence for reports.
    pub token: LeaseToken,
    /// When the lease expires, in real time.
    pub lease_until: Timestamp,
    /// When all attempts must be over (D6).
    pub deadline_at: Option<Timestamp>,
}

impl ClaimedTask {
    /// The name under which other systems know this work, the same for every attempt.
    pub fn idempotency_key(&self) -> String {
        crate::idempotency::idempotency_key(self.id, &self.name, &self.input)
    }
}

/// Why a command was not done. Nothing of it was written, unless its code says that this is not
/// known.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// There is no such definition or version.
    #[error("no definition {name:?} is deployed{}", version_text(*.version))]
    UnknownDefinition {
        /// The name asked for.
        name: String,
        /// The version asked for.
        version: Option<u32>,
    },
    /// There is no such instance.
    #[error("there is no instance {0}")]
    UnknownInstance(InstanceId),
    /// There is no such task.
    #[error("there is no task {0}")]
    UnknownTask(TaskId),
    /// There is no such timer, or not any more.
    #[error("there is no armed timer {0}")]
    UnknownTimer(TimerId),
    /// There is no such incident, or not any more.
    #[error("there is no open incident {0}")]
    UnknownIncident(IncidentId),
    /// The instance is over.
    #[error("instance {0} is over")]
    InstanceEnded(InstanceId),
    /// What is stored of the instance cannot be decoded: it can only be cancelled.
    #[error("instance {0} is damaged: what is stored of it cannot be decoded; it can be cancelled")]
    InstanceDamaged(InstanceId),
    /// The task was claimed again, ended or cancelled.
    #[error("the lease on task {0} is lost")]
    LeaseLost(TaskId),
    /// Somebody else has the business key.
    #[error("a live instance, {holder}, has the key {key:?}")]
    KeyTaken {
        /// The key.
        key: String,
        /// Who has it.
        holder: InstanceId,
    },
    /// The idempotency key was used for a different request.
    #[error("the idempotency key {0:?} was used for a different request")]
    IdempotencyMismatch(String),
    /// The definition refused the input.
    #[error("refused: {code}")]
    Refused {
        /// The definition's own code.
        code: String,
        /// Details.
        problem: Json,
    },
    /// Something is larger than its limit.
    #[error("{what} has {size} bytes, the limit is {limit}")]
    TooLarge {
        /// What.
        what: &'static str,
        /// How large.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The request contradicts itself or a rule.
    #[error("{0}")]
    Invalid(String),
    /// Too much is waiting; try again later.
    #[error("too much work is waiting to be committed")]
    Overloaded,
    /// The incident cannot be closed like this.
    #[error("incident {0} can only be retried, or its instance cancelled")]
    NotResolvable(IncidentId),
    /// The store failed; nothing was written.
    #[error("{message}")]
    Store {
        /// The store's code.
        code: &'static str,
        /// What it said.
        message: String,
    },
    /// The store is a restored copy, and nobody has confirmed that it may act.
    #[error("the engine is paused: its store is a restored copy")]
    Paused,
    /// The clock is the real one: nobody can move it.
    #[error("the engine runs on the real clock")]
    ClockNotVirtual,
    /// Moving the clock set off more than it may; what fired is committed.
    #[error("more than {limit} timers fired; the clock stands at {now}")]
    TooManyFirings {
        /// Where the clock stands.
        now: Timestamp,
        /// How many may fire.
        limit: u64,
    },
    /// The kernel is shutting down.
    #[error("the engine is stopping")]
    Stopping,
}

impl Error {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownDefinition { .. } => "unknown_definition",
            Self::UnknownInstance(_) => "unknown_instance",
            Self::UnknownTask(_) => "unknown_task",
            Self::UnknownTimer(_) => "unknown_timer",
            Self::UnknownIncident(_) => "unknown_incident",
            Self::InstanceEnded(_) => "instance_ended",
            Self::InstanceDamaged(_) => "instance_damaged",
            Self::LeaseLost(_) => "lease_lost",
            Self::KeyTaken { .. } => "key_taken",
            Self::IdempotencyMismatch(_) => "idempotency_mismatch",
            Self::Refused { .. } => "refused",
            Self::TooLarge { .. } => "too_large",
            Self::Invalid(_) => "invalid_request",
            Self::Overloaded => "overloaded",
            Self::NotResolvable(_) => "not_resolvable",
            Self::Store { code, .. } => code,
            Self::Paused => "paused",
            Self::ClockNotVirtual => "clock_not_virtual",
            Self::TooManyFirings { .. } => "too_many_firings",
            Self::Stopping => "stopping",
        }
    }
}

impl From<&store::Error> for Error {
    fn from(error: &store::Error) -> Self {
        Self::Store { code: error.code(), message: error.to_string() }
    }
}

fn version_text(version: Option<u32>) -> String {
    version.map_or_else(String::new, |version| format!(" in version {version}"))
}
