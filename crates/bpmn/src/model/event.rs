//! What events catch and throw: triggers and their timers.

use meantime_core::time::Zone;

use super::{NodeRef, WorkerJob};
use crate::expression::Expression;

/// A start event.
#[derive(Debug)]
pub(crate) struct StartEvent {
    /// None for a plain start.
    pub(crate) trigger: Option<EventTrigger>,
    /// Only the start of an event sub-process can be non-interrupting.
    pub(crate) interrupting: bool,
}

/// An event on the border of an activity.
#[derive(Debug)]
pub(crate) struct BoundaryEvent {
    pub(crate) host: NodeRef,
    pub(crate) interrupting: bool,
    pub(crate) trigger: EventTrigger,
}

/// What an event waits for.
#[derive(Debug)]
pub(crate) enum EventTrigger {
    Timer(TimerDefinition),
    Message(MessageSubscription),
    Signal(Expression),
    /// Without a code: any error.
    Error {
        code: Option<String>,
        code_variable: Option<String>,
        message_variable: Option<String>,
    },
    /// Without a code: any escalation.
    Escalation {
        code: Option<String>,
        code_variable: Option<String>,
    },
    Conditional(Expression),
    Link(String),
    Compensation,
    Cancel,
}

/// The subscription of a message.
#[derive(Debug)]
pub(crate) struct MessageSubscription {
    pub(crate) name: Expression,
    /// The correlation key; without one, the business key of the instance.
    pub(crate) key: Option<Expression>,
}

/// What an event throws.
#[derive(Debug)]
pub(crate) enum ThrownEvent {
    None,
    Terminate,
    /// A message leaves through a worker.
    Message(Box<WorkerJob>),
    Signal(Expression),
    Error(Expression),
    Escalation(Expression),
    Link(String),
    /// Of one activity, or of all completed activities of the scope.
    Compensation(Option<NodeRef>),
    Cancel,
}

impl EventTrigger {
    /// The name of the kind in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Timer(_) => "timer",
            Self::Message(_) => "message",
            Self::Signal(_) => "signal",
            Self::Error { .. } => "error",
            Self::Escalation { .. } => "escalation",
            Self::Conditional(_) => "conditional",
            Self::Link(_) => "link",
            Self::Compensation => "compensation",
            Self::Cancel => "cancel",
        }
    }

    /// The name with its article, for sentences.
    pub(crate) fn with_article(&self) -> String {
        let name = self.name();
        let article = if name.starts_with('e') { "an" } else { "a" };
        format!("{article} {name}")
    }
}

/// Exactly one of date, duration and cycle (B1).
#[derive(Debug, Clone)]
pub(crate) struct TimerDefinition {
    pub(crate) kind: TimerKind,
    /// A literal that was checked at deploy, or an expression.
    pub(crate) text: Expression,
    /// The time zone of calendar durations and cron (T3).
    pub(crate) zone: Zone,
}

/// The kinds of timer definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerKind {
    Date,
    Duration,
    Cycle,
}
