//! The commands of the kernel, and its replies.

use std::sync::Arc;

use meantime_core::{
    Definition, Failure, IncidentId, InstanceId, Json, Message, OnExisting, ScheduleChange,
    ScheduleSpec, Source, TaskId, Thrown, TimerId, Timestamp,
};

use crate::history::AuditInfo;
use crate::store;
use minicbor::{Decode, Encode};

/// One request.
#[derive(Debug, Clone)]
pub enum Command {
    /// Adds definitions, all or nothing.
    Deploy(Deployment),
    /// Undeploys a version; running instances continue.
    Undeploy {
        /// The name.
        name: String,
        /// The version.
        version: u32,
    },
    /// Pauses a definition, or resumes it: a paused one starts no instances.
    PauseDefinition {
        /// The name; all its versions are paused.
        name: String,
        /// Whether it is paused from now on.
        pauses: bool,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// Starts an instance.
    Start(StartCommand),
    /// Creates a schedule, or changes the one with the same identity.
    PutSchedule {
        /// The schedule.
        spec: Box<ScheduleSpec>,
        /// What to do if one is active.
        on_existing: OnExisting,
    },
    /// An operator's action on a schedule: pause, resume, trigger, backfill, change (S14).
    Schedule {
        /// The schedule.
        schedule: InstanceId,
        /// The action.
        action: ScheduleAction,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// Sends a signal to one instance.
    Signal {
        /// The instance.
        instance: InstanceId,
        /// The signal's name.
        name: String,
        /// The payload.
        payload: Json,
    },
    /// Publishes a message.
    Publish(Message),
    /// Sends a broadcast to all instances that wait for it.
    Broadcast {
        /// The broadcast's name.
        name: String,
        /// The payload.
        payload: Json,
    },
    /// Input for a step.
    Submit {
        /// The instance.
        instance: InstanceId,
        /// The step.
        step: String,
        /// The body.
        payload: Json,
        /// Values that a surface read from the request besides its body.
        request_bindings: Option<Json>,
    },
    /// Cancels an instance. Cancelling an ended instance changes nothing.
    Cancel {
        /// The instance.
        instance: InstanceId,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// Suspends or resumes an instance.
    Suspend {
        /// The instance.
        instance: InstanceId,
        /// Which of the two.
        what: Suspending,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// Changes nothing: with [`Wait::Ended`] it is answered when the instance has ended.
    Await {
        /// The instance.
        instance: InstanceId,
    },
    /// An operator's correction of variables.
    SetVariables {
        /// The instance.
        instance: InstanceId,
        /// A JSON object of new values.
        values: Json,
        /// The scope of the variables; `None` means the root.
        scope: Option<String>,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// A worker claims tasks.
    Claim(ClaimCommand),
    /// A worker, the engine or a person reports on a task.
    Report {
        /// The task.
        task: TaskId,
        /// The lease token; people have none.
        token: Option<LeaseToken>,
        /// The report.
        report: Report,
    },
    /// An operator completes or fails a task in place of its worker, without a lease.
    ReportByOperator {
        /// The task.
        task: TaskId,
        /// The report.
        report: Report,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// A worker extends its lease.
    Extend {
        /// The task.
        task: TaskId,
        /// The lease token.
        token: LeaseToken,
        /// How long from now.
        lease_ms: u64,
    },
    /// A worker returns a task that it has not begun: the claim does not count.
    Release {
        /// The task.
        task: TaskId,
        /// The lease token.
        token: LeaseToken,
    },
    /// Assigns a user task to a person, or removes the assignment.
    Assign {
        /// The task.
        task: TaskId,
        /// The person.
        assignee: Option<String>,
    },
    /// Retries what an incident holds.
    RetryIncident {
        /// The incident.
        incident: IncidentId,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// Completes the element or task of an incident with variables.
    ResolveIncident {
        /// The incident.
        incident: IncidentId,
        /// A JSON object of variables.
        variables: Json,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// Moves, fires, freezes or releases a timer or a deadline (O1).
    EditTimer {
        /// The timer.
        timer: TimerId,
        /// The edit.
        edit: TimerEdit,
        /// Actor and reason.
        audit: AuditInfo,
    },
    /// Resumes a restored store. It has no effect on a kernel that is not paused.
    Resume {
        /// Actor and reason.
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
    /// Its compiled definitions.
    pub definitions: Vec<Arc<Definition>>,
}

/// A start.
#[derive(Debug, Clone, Default)]
pub struct StartCommand {
    /// The definition's name.
    pub definition: String,
    /// The version; `None` means the latest.
    pub version: Option<u32>,
    /// The input.
    pub input: Json,
    /// Where it begins, if not at its start; in the terms of its notation.
    pub at: Option<String>,
    /// Values that a surface read from the request besides the input.
    pub request_bindings: Option<Json>,
    /// A business key, unique among live instances of the definition.
    pub key: Option<String>,
    /// When it must have ended.
    pub deadline_at: Option<Timestamp>,
    /// The deadline as the caller wrote it, if it was a duration: a repeated request contains the
    /// same text, although it means a later instant by then.
    pub deadline_after: Option<String>,
    /// Tags by which it can be found.
    pub tags: Vec<String>,
    /// The ended instance that it repeats, and who restarts it.
    pub restart: Option<Restart>,
    /// An idempotency key, which makes a repetition harmless.
    pub idempotency: Option<String>,
}

/// A start that repeats an instance.
#[derive(Debug, Clone)]
pub struct Restart {
    /// The instance that it repeats.
    pub of: InstanceId,
    /// Actor and reason.
    pub audit: AuditInfo,
}

/// A claim of a worker.
#[derive(Debug, Clone, Default)]
pub struct ClaimCommand {
    /// The worker.
    pub worker: String,
    /// Types it can do; empty means any.
    pub types: Vec<String>,
    /// Queues it serves; empty means the default queue.
    pub queues: Vec<String>,
    /// The largest number of tasks.
    pub max: usize,
    /// How long the lease lasts.
    pub lease_ms: u64,
    /// How long to wait if there is no task.
    pub wait_ms: u64,
}

/// The token of a claimed task: a fence, not a credential (I5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseToken {
    /// The store's epoch.
    pub epoch: u32,
    /// The number of claims of the task.
    pub claims: u32,
}

/// A report on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// It was completed.
    Completed(Json),
    /// It failed.
    Failed {
        /// The error.
        failure: Failure,
        /// Whether another attempt may help.
        retryable: bool,
        /// How long to wait before the next attempt.
        retry_after_ms: Option<u64>,
        /// A business error thrown on purpose.
        thrown: Option<Thrown>,
    },
}

/// Suspends or resumes an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspending {
    /// Events wait from now on.
    Suspend(SuspendedTimers),
    /// The events that waited are taken.
    Resume,
}

/// What the timers of an instance do while it is suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
#[cbor(index_only)]
pub enum SuspendedTimers {
    /// They keep their due instants, and do not fire before the instance is resumed.
    #[default]
    #[n(0)]
    Freeze,
    /// They fire at their instants. What they cause waits; the deadline ends the instance.
    #[n(1)]
    Run,
}

/// The code of a start of a paused definition, also by a parent or a schedule.
pub const DEFINITION_PAUSED: &str = "definition_paused";

/// The code of a schedule that breaks a rule (S11).
pub const SCHEDULE_INVALID: &str = "SCHEDULE_INVALID";

/// The code of a change that required a generation which has passed (S15).
pub const SCHEDULE_CHANGED: &str = "SCHEDULE_CHANGED";

/// An action on a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleAction {
    /// No occurrences until it is resumed.
    Pause,
    /// Occurrences again; those that passed in between are missed, and treated by the policy.
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

/// An edit of a timer.
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
    /// After the turn that took the command, and all turns that follow without input.
    #[default]
    Quiet,
    /// When the instance is idle: it waits only for time, signals, messages, steps or people, or
    /// has ended.
    Idle,
    /// When the instance has ended.
    Ended,
}

/// The answer to a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// It is done.
    Done,
    /// Definitions, with version and whether each is new.
    Deployed(Vec<Deployed>),
    /// The instance; `repeated` if an earlier request had started it.
    Started {
        /// The instance.
        instance: InstanceId,
        /// Whether it existed already.
        repeated: bool,
        /// Its row at the time of the answer; `None` if the store must be read.
        row: Option<Box<store::InstanceRow>>,
    },
    /// The schedule that was created or changed.
    Scheduled {
        /// The schedule.
        schedule: InstanceId,
    },
    /// The result of a message.
    Published {
        /// Instances that received it or were started by it.
        delivered: Vec<InstanceId>,
        /// Whether it is kept without a receiver.
        kept: bool,
        /// Whether its id was seen before, so that it was dropped.
        duplicate: bool,
    },
    /// A submission was accepted.
    Submitted {
        /// The answer of the step.
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

/// A claimed task.
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
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// The token for reports.
    pub token: LeaseToken,
    /// When the lease expires, in real time.
    pub lease_until: Timestamp,
    /// When all attempts must have ended (D6).
    pub deadline_at: Option<Timestamp>,
}

impl ClaimedTask {
    /// The idempotency key for other systems, the same for every attempt.
    pub fn idempotency_key(&self) -> String {
        crate::idempotency::idempotency_key(self.id, &self.name, &self.input)
    }
}

/// Why a command was rejected. Nothing of it was written, unless its code says that this is not
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
    /// The definition is paused: it starts no instances.
    #[error("the definition {0:?} is paused: it starts no instances until it is resumed")]
    DefinitionPaused(String),
    /// There is no such instance.
    #[error("there is no instance {0}")]
    UnknownInstance(InstanceId),
    /// There is no such task.
    #[error("there is no task {0}")]
    UnknownTask(TaskId),
    /// There is no such timer, or it is closed.
    #[error("there is no armed timer {0}")]
    UnknownTimer(TimerId),
    /// There is no such incident, or it is closed.
    #[error("there is no open incident {0}")]
    UnknownIncident(IncidentId),
    /// The instance has ended.
    #[error("instance {0} has ended")]
    InstanceEnded(InstanceId),
    /// The instance is suspended, and the command needs a turn of it.
    #[error("instance {0} is suspended: resume it first")]
    InstanceSuspended(InstanceId),
    /// Rows of the instance cannot be decoded: it can only be cancelled.
    #[error("instance {0} is damaged: what is stored of it cannot be decoded; it can be cancelled")]
    InstanceDamaged(InstanceId),
    /// The task was claimed again, ended or cancelled.
    #[error("the lease on task {0} is lost")]
    LeaseLost(TaskId),
    /// A live instance has the business key.
    #[error("a live instance, {holder}, has the key {key:?}")]
    KeyTaken {
        /// The key.
        key: String,
        /// The instance that has it.
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
    /// Something exceeds its limit.
    #[error("{what} has {size} bytes, the limit is {limit}")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The request contradicts itself or a rule.
    #[error("{0}")]
    Invalid(String),
    /// Too much is queued; try again later.
    #[error("too much work is waiting to be committed")]
    Overloaded,
    /// The incident cannot be resolved with variables.
    #[error("incident {0} can only be retried, or its instance cancelled")]
    NotResolvable(IncidentId),
    /// The store failed; nothing was written.
    #[error("{message}")]
    Store {
        /// The store's code.
        code: &'static str,
        /// Its message.
        message: String,
    },
    /// The store is restored and not resumed.
    #[error("the engine is paused: its store is a restored copy")]
    Paused,
    /// The clock is not virtual and cannot be moved.
    #[error("the engine runs on the real clock")]
    ClockNotVirtual,
    /// Moving the clock fired more timers than allowed; those that fired are committed.
    #[error("more than {limit} timers fired; the clock is at {now}")]
    TooManyFirings {
        /// The time of the clock.
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
            Self::DefinitionPaused(_) => "definition_paused",
            Self::UnknownInstance(_) => "unknown_instance",
            Self::UnknownTask(_) => "unknown_task",
            Self::UnknownTimer(_) => "unknown_timer",
            Self::UnknownIncident(_) => "unknown_incident",
            Self::InstanceEnded(_) => "instance_ended",
            Self::InstanceSuspended(_) => "instance_suspended",
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
