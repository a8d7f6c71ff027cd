//! What can happen to an instance.
//!
//! Events wait in the instance's inbox and reach its notation in batches, in order. Encoded field
//! numbers are a storage format: never reuse one.

use minicbor::{Decode, Encode};

use crate::{EffectKey, Failure, IncidentId, Json, Termination, Thrown, Timestamp};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// A task ended; there is exactly one such event per awaited task.
    #[n(0)]
    TaskDone {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// How it ended.
        #[n(1)]
        outcome: TaskOutcome,
    },
    /// A timer fell due (or was fired by hand).
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
        /// What was sent.
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
        /// What was sent.
        #[n(2)]
        payload: Json,
    },
    /// Input for a step that waits for a person or a caller.
    #[n(4)]
    Submitted {
        /// The step's id in the definition.
        #[n(0)]
        step: String,
        /// The raw body.
        #[n(1)]
        payload: Json,
        /// What a surface read from the request besides its body, in the notation's own terms.
        #[n(2)]
        bound: Option<Json>,
    },
    /// A child ended.
    #[n(5)]
    ChildDone {
        /// The effect that started it.
        #[n(0)]
        key: EffectKey,
        /// How it ended.
        #[n(1)]
        outcome: ChildOutcome,
        /// Its final variables, if the child was started to hand them on (S6).
        #[n(2)]
        context: Option<Json>,
    },
    /// A running child raised something that an ancestor catches.
    #[n(6)]
    ChildRaised {
        /// The effect that started the child.
        #[n(0)]
        key: EffectKey,
        /// What it raised.
        #[n(1)]
        raised: Failure,
    },
    /// The answer to an effect that answers.
    #[n(7)]
    EffectDone {
        /// The effect.
        #[n(0)]
        key: EffectKey,
        /// What became of it.
        #[n(1)]
        answer: Answer,
    },
    /// Someone asked to try the place of an incident again.
    #[n(8)]
    IncidentRetried {
        /// The incident.
        #[n(0)]
        incident: IncidentId,
        /// The effect that raised it, if a notation did.
        #[n(1)]
        key: Option<EffectKey>,
    },
    /// An operator corrected variables: a JSON object of new values.
    #[n(9)]
    VariablesSet {
        /// The new values by name.
        #[n(0)]
        values: Json,
        /// The scope they live in, by the name that [`crate::Notation::scopes`] gives it; none
        /// is the root.
        #[n(1)]
        scope: Option<String>,
    },
    /// The next slice of a turn that yielded.
    #[n(10)]
    Continue,
    /// Someone wants the instance to end.
    #[n(11)]
    Cancel {
        /// Why.
        #[n(0)]
        reason: String,
    },
    /// The deadline has passed. Not catchable (D5).
    #[n(12)]
    DeadlineReached,
    /// Somebody moved the parent's deadline. For the kernel alone: a child that inherited it
    /// moves along, and no notation hears of it.
    #[n(13)]
    DeadlineMoved {
        /// Where it was.
        #[n(0)]
        from: Timestamp,
        /// Where it is.
        #[n(1)]
        to: Timestamp,
        /// Who moved it.
        #[n(2)]
        actor: String,
        /// Why.
        #[n(3)]
        reason: String,
    },
    /// Someone says that the place of an incident is done, and with what. It closes the incident
    /// only if it is taken.
    #[n(14)]
    IncidentResolved {
        /// The incident.
        #[n(0)]
        incident: IncidentId,
        /// The effect that raised it.
        #[n(1)]
        key: EffectKey,
        /// What the place ends with: a JSON object.
        #[n(2)]
        variables: Json,
    },
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum TaskOutcome {
    /// With an output.
    #[n(0)]
    Completed(#[n(0)] Json),
    /// For good: retries are used up or pointless.
    #[n(1)]
    Failed {
        /// The error, as the worker sent it.
        #[n(0)]
        failure: Failure,
        /// What ended it.
        #[n(1)]
        cause: TaskCause,
        /// A business error thrown on purpose.
        #[n(2)]
        thrown: Option<Thrown>,
    },
}

/// What made a task fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum TaskCause {
    /// The worker said so.
    #[n(0)]
    Reported,
    /// An attempt took longer than its timeout.
    #[n(1)]
    Timeout,
    /// The deadline over all attempts passed.
    #[n(2)]
    Deadline,
    /// The worker never came back.
    #[n(3)]
    LeaseExpired,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ChildOutcome {
    /// With an output.
    #[n(0)]
    Completed(#[n(0)] Json),
    /// As failed.
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

/// What became of an effect that answers.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Answer {
    /// It was done.
    #[n(0)]
    Done,
    /// It could not be done, for a reason that only the commit could know.
    #[n(1)]
    Conflict {
        /// Stable code, such as `unknown_definition` or `key_taken`.
        #[n(0)]
        code: String,
    },
}

/// How an instance begins.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Start {
    /// Who started it.
    #[n(0)]
    pub cause: StartCause,
    /// Where to begin, when not at the definition's own start.
    #[n(1)]
    pub at: Option<String>,
    /// The input.
    #[n(2)]
    pub input: Json,
    /// A context handed on from an earlier run (S6).
    #[n(3)]
    pub context: Option<Json>,
    /// What a surface read from the request besides the input, in the notation's own terms.
    #[n(4)]
    pub bound: Option<Json>,
}

impl Start {
    /// A start with an input and nothing else.
    pub const fn new(cause: StartCause, input: Json) -> Self {
        Self { cause, at: None, input, context: None, bound: None }
    }
}

/// Who started an instance.
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
    /// A timer start of the definition.
    #[n(2)]
    Timer {
        /// The start's place.
        #[n(0)]
        element: String,
    },
    /// A message start of the definition.
    #[n(3)]
    Message {
        /// The message's name.
        #[n(0)]
        name: String,
    },
    /// A broadcast signal.
    #[n(4)]
    Signal {
        /// The signal's name.
        #[n(0)]
        name: String,
    },
    /// A parent.
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
