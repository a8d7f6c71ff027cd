//! Events: what can happen to an instance.
//!
//! Events wait in the inbox of the instance and are delivered to its notation in turns, in order.
//! Encoded field numbers are a storage format: never reuse one.

use minicbor::{Decode, Encode};

use crate::{EffectKey, Failure, IncidentId, Json, Termination, Thrown, Timestamp};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// A task ended; there is exactly one such event per awaited task.
    #[n(0)]
    TaskDone {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// Its outcome.
        #[n(1)]
        outcome: TaskOutcome,
    },
    /// A timer fired, at its due time or early, by an operator.
    #[n(1)]
    TimerFired {
        /// The timer.
        #[n(0)]
        key: EffectKey,
        /// When it was due: never after the turn's `now` (T8).
        #[n(1)]
        due_at: Timestamp,
    },
    /// A signal for a subscription of this instance.
    #[n(2)]
    Signal {
        /// The subscription it was matched with.
        #[n(0)]
        key: EffectKey,
        /// The signal's name.
        #[n(1)]
        name: String,
        /// The payload.
        #[n(2)]
        payload: Json,
    },
    /// A message, correlated by name and key.
    #[n(3)]
    Message {
        /// The subscription it was matched with.
        #[n(0)]
        key: EffectKey,
        /// The message's name.
        #[n(1)]
        name: String,
        /// The payload.
        #[n(2)]
        payload: Json,
    },
    /// Input for a step.
    #[n(4)]
    Submitted {
        /// The step's id in the definition.
        #[n(0)]
        step: String,
        /// The raw body.
        #[n(1)]
        payload: Json,
        /// Values that a surface read from the request besides its body, in the notation's own
        /// terms.
        #[n(2)]
        request_bindings: Option<Json>,
    },
    /// A child ended.
    #[n(5)]
    ChildDone {
        /// The effect that started it.
        #[n(0)]
        key: EffectKey,
        /// Its outcome.
        #[n(1)]
        outcome: ChildOutcome,
        /// Its final variables, if the child was started to pass them on (S6).
        #[n(2)]
        context: Option<Json>,
    },
    /// A running child raised an error that an ancestor catches.
    #[n(6)]
    ChildRaised {
        /// The effect that started the child.
        #[n(0)]
        key: EffectKey,
        /// The error.
        #[n(1)]
        raised: Failure,
    },
    /// The answer to an effect that is answered.
    #[n(7)]
    EffectDone {
        /// The effect.
        #[n(0)]
        key: EffectKey,
        /// The answer.
        #[n(1)]
        answer: Answer,
    },
    /// An operator retries an incident.
    #[n(8)]
    IncidentRetried {
        /// The incident.
        #[n(0)]
        incident: IncidentId,
        /// The effect that raised it, if a notation raised it.
        #[n(1)]
        key: Option<EffectKey>,
    },
    /// An operator corrected variables: a JSON object of new values.
    #[n(9)]
    VariablesSet {
        /// The new values by name.
        #[n(0)]
        values: Json,
        /// The scope of the variables, by its id in [`crate::Notation::scopes`]; `None` means the
        /// root.
        #[n(1)]
        scope: Option<String>,
    },
    /// The next slice of a turn that yielded.
    #[n(10)]
    Continue,
    /// The instance is to be cancelled.
    #[n(11)]
    Cancel {
        /// The reason.
        #[n(0)]
        reason: String,
    },
    /// The deadline has passed. A definition cannot catch it (D5).
    #[n(12)]
    DeadlineReached,
    /// An operator moved the parent's deadline. Only the kernel handles it: a child that inherited
    /// the deadline moves its own, and its notation is not called.
    #[n(13)]
    DeadlineMoved {
        /// The old deadline.
        #[n(0)]
        from: Timestamp,
        /// The new deadline.
        #[n(1)]
        to: Timestamp,
        /// The operator.
        #[n(2)]
        actor: String,
        /// The reason.
        #[n(3)]
        reason: String,
    },
    /// An operator resolves an incident with variables. The incident is closed only if the event is
    /// taken.
    #[n(14)]
    IncidentResolved {
        /// The incident.
        #[n(0)]
        incident: IncidentId,
        /// The effect that raised it.
        #[n(1)]
        key: EffectKey,
        /// Variables with which the element completes: a JSON object.
        #[n(2)]
        variables: Json,
    },
}

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum TaskOutcome {
    /// It was completed, with an output.
    #[n(0)]
    Completed(#[n(0)] Json),
    /// It failed for good: no attempts are left, or a retry is pointless.
    #[n(1)]
    Failed {
        /// The error, as the worker sent it.
        #[n(0)]
        failure: Failure,
        /// The cause.
        #[n(1)]
        cause: TaskCause,
        /// A business error that the worker threw on purpose.
        #[n(2)]
        thrown: Option<Thrown>,
    },
}

/// Why a task failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum TaskCause {
    /// The worker reported it.
    #[n(0)]
    Reported,
    /// An attempt took longer than its timeout.
    #[n(1)]
    Timeout,
    /// The deadline for all attempts passed.
    #[n(2)]
    Deadline,
    /// The leases of its workers expired.
    #[n(3)]
    LeaseExpired,
}

/// The outcome of a child.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ChildOutcome {
    /// It was completed, with an output.
    #[n(0)]
    Completed(#[n(0)] Json),
    /// It failed.
    #[n(1)]
    Failed {
        /// The child's error.
        #[n(0)]
        failure: Failure,
        /// Why it failed.
        #[n(1)]
        termination: Termination,
    },
    /// It was cancelled.
    #[n(2)]
    Cancelled,
}

/// The answer to an effect.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Answer {
    /// It was performed.
    #[n(0)]
    Done,
    /// It could not be performed, for a reason that only the commit could know.
    #[n(1)]
    Conflict {
        /// Stable code, such as `unknown_definition` or `key_taken`.
        #[n(0)]
        code: String,
    },
}

/// The start of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Start {
    /// The cause.
    #[n(0)]
    pub cause: StartCause,
    /// The element where it begins, if not at the definition's own start.
    #[n(1)]
    pub at: Option<String>,
    /// The input.
    #[n(2)]
    pub input: Json,
    /// A context from an earlier run (S6).
    #[n(3)]
    pub context: Option<Json>,
    /// Values that a surface read from the request besides the input, in the notation's own terms.
    #[n(4)]
    pub request_bindings: Option<Json>,
}

impl Start {
    /// A start with an input and nothing else.
    pub const fn new(cause: StartCause, input: Json) -> Self {
        Self { cause, at: None, input, context: None, request_bindings: None }
    }
}

/// The cause of a start.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum StartCause {
    /// A caller.
    #[n(0)]
    Api,
    /// A schedule, for one of its occurrences.
    #[n(1)]
    Schedule {
        /// The occurrence's instant.
        #[n(0)]
        scheduled_at: Timestamp,
    },
    /// A timer trigger of the definition.
    #[n(2)]
    Timer {
        /// The element of the trigger.
        #[n(0)]
        element: String,
    },
    /// A message trigger of the definition.
    #[n(3)]
    Message {
        /// The message's name.
        #[n(0)]
        name: String,
    },
    /// A broadcast.
    #[n(4)]
    Signal {
        /// The name of the broadcast.
        #[n(0)]
        name: String,
    },
    /// A parent instance.
    #[n(5)]
    Child,
}

impl Event {
    /// The name of the event in traces, history and the API.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TaskDone { outcome: TaskOutcome::Completed(_), .. } => "taskCompleted",
            Self::TaskDone { outcome: TaskOutcome::Failed { .. }, .. } => "taskFailed",
            Self::TimerFired { .. } => "timerFired",
            Self::Signal { .. } => "signal",
            Self::Message { .. } => "message",
            Self::Submitted { .. } => "submitted",
            Self::ChildDone { .. } => "childDone",
            Self::ChildRaised { .. } => "childRaised",
            Self::EffectDone { .. } => "effectDone",
            Self::IncidentRetried { .. } => "incidentRetried",
            Self::VariablesSet { .. } => "variablesSet",
            Self::Continue => "continue",
            Self::Cancel { .. } => "cancel",
            Self::DeadlineReached => "deadlineReached",
            Self::DeadlineMoved { .. } => "deadlineMoved",
            Self::IncidentResolved { .. } => "incidentResolved",
        }
    }

    /// The effect of this instance that the event answers, if any.
    pub fn key(&self) -> Option<EffectKey> {
        match self {
            Self::TaskDone { key, .. }
            | Self::TimerFired { key, .. }
            | Self::Signal { key, .. }
            | Self::Message { key, .. }
            | Self::ChildDone { key, .. }
            | Self::ChildRaised { key, .. }
            | Self::EffectDone { key, .. }
            | Self::IncidentResolved { key, .. } => Some(*key),
            Self::IncidentRetried { key, .. } => *key,
            Self::Submitted { .. }
            | Self::VariablesSet { .. }
            | Self::Continue
            | Self::Cancel { .. }
            | Self::DeadlineReached
            | Self::DeadlineMoved { .. } => None,
        }
    }
}
