//! Wire types of the history: one event for each record.

use meantime_core::{EffectKey, Failure, IncidentId, Json, StartCause, TaskId, TimerId, Timestamp};
use meantime_kernel::history::{AuditInfo, CancelCause, Edit, Record};
use meantime_kernel::store::{HistoryRow, TimerKind};
use serde::Serialize;
use utoipa::ToSchema;

/// An event of the history or timeline of an instance. Its type decides which members are present.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryEvent {
    /// Its number in the history of all instances.
    #[serde(skip_serializing_if = "String::is_empty")]
    seq: String,
    /// The number of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    /// When it happened, or will happen.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The type: `started`, `timerArmed`, `timerFired`, `taskScheduled`, `attemptFailed`, `ended`
    /// and so on.
    #[serde(rename = "type")]
    kind: String,
    /// Whether it lies in the future (timeline only).
    upcoming: bool,
    /// Id of the timer, task, child or incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// A type, name or definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The element of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    element: Option<String>,
    /// The kind of timer: `timer`, `deadline` or `taskDeadline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    due_kind: Option<&'static str>,
    /// When it is or was due; for a failed attempt, when the next one may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    due_at: Option<Timestamp>,
    /// When it was due before an operator moved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// The cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    /// Whether the definition consumed the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<bool>,
    /// The attempt of the task, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    /// The worker that had a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// Whether an operator fired the timer, not its due time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    manual: bool,
    /// The code of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The message of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// An input, or the data of a record that the definition wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    data: Option<Json>,
    /// The operator, for manual changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Actor>,
    /// The number of turns that compaction removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
}

/// The actor of a manual change, with the reason given.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Actor {
    actor: String,
    reason: String,
}

impl From<&AuditInfo> for Actor {
    fn from(by: &AuditInfo) -> Self {
        Self { actor: by.actor.clone(), reason: by.reason.clone() }
    }
}

impl HistoryEvent {
    /// An event of the future, from an armed timer.
    pub(crate) fn upcoming(at: Timestamp, kind: &str, id: String, element: String) -> Self {
        let (kind, id, element) = (kind.to_owned(), Some(id), Some(element));
        Self { at, kind, upcoming: true, id, element, due_at: Some(at), ..Self::default() }
    }

    pub(crate) const fn at(&self) -> Timestamp {
        self.at
    }
}

/// The events of one turn.
pub(crate) fn history_events(row: &HistoryRow) -> Vec<HistoryEvent> {
    let entry = |record: &Record| HistoryEvent {
        seq: row.seq.to_string(),
        turn: Some(row.turn_no),
        at: row.at,
        ..from_record(record)
    };
    row.records.iter().map(entry).collect()
}

fn from_record(record: &Record) -> HistoryEvent {
    match record {
        Record::Started { cause, input } => HistoryEvent {
            cause: Some(start_cause(cause)),
            data: Some(input.clone()),
            ..named("started")
        },
        Record::Event { name, key, note, taken, message, attempt, worker } => HistoryEvent {
            taken: Some(*taken),
            attempt: *attempt,
            worker: worker.clone(),
            ..turn_event(name, *key, note.as_ref(), message.as_ref())
        },
        Record::TimerArmed { key, kind, element, due_at } => {
            let element = Some(element.clone());
            HistoryEvent { element, ..timer("timerArmed", *key, *kind, *due_at) }
        }
        Record::TimerFired { key, kind, due_at, audit } => HistoryEvent {
            manual: audit.is_some(),
            by: audit.as_ref().map(Actor::from),
            ..timer("timerFired", *key, *kind, *due_at)
        },
        Record::TimerCancelled { key, kind, due_at, cause } => {
            let cause = Some(cancelled(*cause));
            HistoryEvent { cause, ..timer("timerCancelled", *key, *kind, *due_at) }
        }
        Record::TimerEdited { key, kind, edit, from, to, audit } => {
            let (from, by) = (Some(*from), Some(audit.into()));
            HistoryEvent { from, by, ..timer(edited(*edit), *key, *kind, *to) }
        }
        Record::TaskScheduled { key, name } => {
            HistoryEvent { name: Some(name.clone()), ..task("taskScheduled", *key) }
        }
        Record::TaskCancelled { key, cause } => {
            HistoryEvent { cause: Some(cancelled(*cause)), ..task("taskCancelled", *key) }
        }
        Record::DetachedTaskEnded { key, code } => {
            let kind = if code.is_some() { "detachedTaskFailed" } else { "detachedTaskCompleted" };
            HistoryEvent { code: code.clone(), ..task(kind, *key) }
        }
        Record::AttemptFailed { key, attempt, code, message, retry_at } => HistoryEvent {
            due_at: Some(*retry_at),
            attempt: Some(*attempt),
            ..failed(task("attemptFailed", *key), code, message)
        },
        Record::LeaseExpired { key, worker, .. } => {
            HistoryEvent { worker: Some(worker.clone()), ..task("leaseExpired", *key) }
        }
        Record::ChildStarted { key, definition } => {
            let (id, name) = (Some(key.to_string()), Some(definition.clone()));
            HistoryEvent { id, name, ..named("childStarted") }
        }
        Record::IncidentRaised { incident, failure } => incident_raised(*incident, failure),
        Record::IncidentClosed { incident, audit } => {
            let (id, by) = (Some(incident.to_string()), audit.as_ref().map(Actor::from));
            HistoryEvent { id, by, ..named("incidentClosed") }
        }
        Record::Note { kind, data } => {
            HistoryEvent { name: Some(kind.clone()), data: Some(data.clone()), ..named("note") }
        }
        Record::Command { name, audit } => {
            HistoryEvent { name: Some(name.clone()), by: Some(audit.into()), ..named("command") }
        }
        Record::Ended { phase, code } => {
            HistoryEvent { name: Some(phase.clone()), code: code.clone(), ..named("ended") }
        }
        Record::Closing => named("closing"),
        Record::Published { name } => {
            HistoryEvent { name: Some(name.clone()), ..named("published") }
        }
        Record::Compacted { since, turns, .. } => {
            HistoryEvent { from: Some(*since), turns: Some(*turns), ..named("compacted") }
        }
    }
}

/// An event that a turn processed. Its note is the code of a failure, or else a name.
fn turn_event(
    kind: &str,
    key: Option<EffectKey>,
    note: Option<&String>,
    message: Option<&String>,
) -> HistoryEvent {
    let is_task = matches!(kind, "taskCompleted" | "taskFailed");
    let id = key.map(|key| if is_task { TaskId(key).to_string() } else { key.to_string() });
    let (code, name) = if message.is_some() { (note, None) } else { (None, note) };
    let (code, name, message) = (code.cloned(), name.cloned(), message.cloned());
    HistoryEvent { id, name, code, message, ..named(kind) }
}

fn incident_raised(incident: IncidentId, failure: &Failure) -> HistoryEvent {
    let (id, data) = (Some(incident.to_string()), failure.data.clone());
    let event = HistoryEvent { id, data, ..named("incidentRaised") };
    failed(event, &failure.code, &failure.message)
}

/// The event with the code and the message of a failure.
fn failed(event: HistoryEvent, code: &str, message: &str) -> HistoryEvent {
    HistoryEvent { code: Some(code.to_owned()), message: Some(message.to_owned()), ..event }
}

fn named(kind: &str) -> HistoryEvent {
    HistoryEvent { kind: kind.to_owned(), ..HistoryEvent::default() }
}

fn timer(kind: &str, key: EffectKey, due_kind: TimerKind, due_at: Timestamp) -> HistoryEvent {
    let (due_kind, due_at) = (Some(due_kind.name()), Some(due_at));
    HistoryEvent { id: Some(TimerId(key).to_string()), due_kind, due_at, ..named(kind) }
}

fn task(kind: &str, key: EffectKey) -> HistoryEvent {
    HistoryEvent { id: Some(TaskId(key).to_string()), ..named(kind) }
}

fn edited(edit: Edit) -> &'static str {
    match edit {
        // An operator fired it: it is moved to now, and its firing follows, with `manual`.
        Edit::Moved | Edit::FiredNow => "timerMoved",
        Edit::Frozen => "timerFrozen",
        Edit::Released => "timerReleased",
    }
}

fn cancelled(cause: CancelCause) -> String {
    let cause = match cause {
        CancelCause::ScopeLeft => "scopeLeft",
        CancelCause::Ended => "ended",
        CancelCause::TaskEnded => "taskEnded",
        CancelCause::Detached => "detached",
    };
    cause.to_owned()
}

fn start_cause(cause: &StartCause) -> String {
    match cause {
        StartCause::Api => "api".to_owned(),
        StartCause::Schedule { scheduled_at } => format!("schedule {scheduled_at}"),
        StartCause::Timer { element } => format!("timer {element}"),
        StartCause::Message { name } => format!("message {name}"),
        StartCause::Signal { name } => format!("signal {name}"),
        StartCause::Child => "child".to_owned(),
    }
}
