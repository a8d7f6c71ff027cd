//! Why did this happen, or not happen? Answers from the ledger, as data and as a sentence (O2).

use meantime_core::{Outcome, SlotOutcome, TaskKind, TaskOutcome, TimerId, Timestamp};

use crate::history::{By, Edit, Record, Withdrawn};
use crate::open::Key;
use crate::store::{
    HistoryRow, IncidentRow, InstanceRow, OccurrenceRow, Phase, TaskRow, TaskState, TimerKind,
};

/// What became of a due moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is still to come.
    Armed {
        /// The deadline of its instance, if that comes first.
        deadline: Option<Timestamp>,
    },
    /// Somebody froze it.
    Frozen,
    /// It came.
    Fired {
        /// When the turn ran that took it.
        at: Timestamp,
    },
    /// It will not come.
    Cancelled {
        /// When it was withdrawn.
        at: Timestamp,
        /// Why.
        cause: Withdrawn,
    },
    /// Nothing is known of such a timer.
    Unknown,
}

/// The story of one due moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The timer.
    pub timer: TimerId,
    /// What kind of due moment.
    pub kind: TimerKind,
    /// Where in the definition.
    pub place: String,
    /// When it was armed.
    pub armed_at: Option<Timestamp>,
    /// When it is or was due, after all edits.
    pub due_at: Option<Timestamp>,
    /// What people did to it: when, what, from, to, who.
    pub edits: Vec<(Timestamp, Edit, Timestamp, Timestamp, By)>,
    /// What became of it.
    pub fate: Fate,
}

/// Tells the story of a timer from its instance and that instance's history, in any order.
pub fn explain_timer(row: &InstanceRow, history: &[HistoryRow], timer: TimerId) -> Explanation {
    let mut story = Explanation {
        timer,
        kind: TimerKind::Place,
        place: String::new(),
        armed_at: None,
        due_at: None,
        edits: Vec::new(),
        fate: Fate::Unknown,
    };
    let mut rows: Vec<&HistoryRow> = history.iter().collect();
    rows.sort_by_key(|row| row.seq);
    for row in rows {
        row.records.iter().for_each(|record| story.add(record, row.at));
    }
    if let Some(open) = row.open.timers.get(&Key::from(timer.0)) {
        story.due_at = Some(open.due_at);
        let deadline = row.open.deadline().filter(|_| row.open.ends_before(open));
        story.fate = if open.frozen { Fate::Frozen } else { Fate::Armed { deadline } };
    }
    story
}

impl Explanation {
    fn add(&mut self, record: &Record, at: Timestamp) {
        match record {
            Record::TimerArmed { key, kind, place, due_at } if *key == self.timer.0 => {
                (self.kind, self.place) = (*kind, place.clone());
                (self.armed_at, self.due_at) = (Some(at), Some(*due_at));
            }
            Record::TimerEdited { key, edit, from, to, by, .. } if *key == self.timer.0 => {
                self.edits.push((at, *edit, *from, *to, by.clone()));
                self.due_at = Some(*to);
            }
            Record::TimerFired { key, due_at, .. } if *key == self.timer.0 => {
                self.due_at = Some(*due_at);
                self.fate = Fate::Fired { at };
            }
            Record::TimerCancelled { key, due_at, cause, .. } if *key == self.timer.0 => {
                self.due_at = Some(*due_at);
                self.fate = Fate::Cancelled { at, cause: *cause };
            }
            _ => {}
        }
    }

    /// The story in words.
    pub fn sentence(&self) -> String {
        let what = match self.kind {
            TimerKind::Place => format!("timer at {:?}", self.place),
            TimerKind::Deadline => "deadline".to_owned(),
            TimerKind::TaskDeadline => format!("task deadline at {:?}", self.place),
        };
        let Some(due_at) = self.due_at else {
            return "nothing is known of this timer".to_owned();
        };
        let mut text = match self.armed_at {
            Some(armed_at) => format!("the {what}, armed at {armed_at},"),
            None => format!("the {what}"),
        };
        for (at, edit, from, to, by) in &self.edits {
            let done = match edit {
                Edit::Moved => format!("moved from {from} to {to}"),
                Edit::FiredNow => format!("fired by hand instead of at {from}"),
                Edit::Frozen => "frozen".to_owned(),
                Edit::Released => "released".to_owned(),
            };
            let reason =
                if by.reason.is_empty() { String::new() } else { format!(" ({})", by.reason) };
            text = format!("{text} was {done} at {at} by {}{reason},", by.actor);
        }
        let fate = match &self.fate {
            Fate::Armed { deadline: None } => format!(" is due at {due_at}"),
            Fate::Armed { deadline: Some(at) } => {
                format!(" would be due at {due_at}, but the deadline at {at} comes first")
            }
            Fate::Frozen => format!(" is frozen; it was due at {due_at}"),
            Fate::Fired { at } => {
                let late = at.saturating_since(due_at);
                let late = if late > 0 { format!(", {late} ms late") } else { String::new() };
                format!(" was due at {due_at} and fired at {at}{late}")
            }
            Fate::Cancelled { at, cause } => {
                let why = match cause {
                    Withdrawn::Left => "the place was left",
                    Withdrawn::Ended | Withdrawn::Detached => "the instance ended",
                    Withdrawn::TaskOver => "the task it guards was over",
                };
                format!(" was due at {due_at} and was withdrawn at {at} because {why}")
            }
            Fate::Unknown => format!(" was due at {due_at}"),
        };
        text + &fate
    }
}

/// Why a slot of a schedule ran, or did not.
pub fn explain_occurrence(row: &OccurrenceRow) -> String {
    let it = &row.occurrence;
    let slots = if it.count == 1 {
        format!("the slot of {}", it.slot_at)
    } else {
        format!("the {} slots from {} to {}", it.count, it.slot_at, it.last_at)
    };
    let late = row.decided_at.saturating_since(it.last_at);
    let when = match late {
        0 => "on time".to_owned(),
        late if late > 0 => format!("{late} ms late, at {}", row.decided_at),
        _ => format!("early, by hand, at {}", row.decided_at),
    };
    match it.outcome {
        SlotOutcome::Started => {
            let run = row.instance.map_or_else(String::new, |id| format!(" as {id}"));
            format!("{slots} was started {when}{run}")
        }
        SlotOutcome::Skipped => format!("{slots} was skipped: {}", it.reason),
        SlotOutcome::Missed if it.count == 1 => format!("{slots} was missed: {}", it.reason),
        SlotOutcome::Missed => format!("{slots} were missed: {}", it.reason),
        SlotOutcome::Failed => format!("{slots} could not be started: {}", it.reason),
    }
}

/// Where a task stands, and what it waits for.
pub fn explain_task(task: &TaskRow, now: Timestamp) -> String {
    let what = format!("the task {:?} at {:?}", task.spec.name, task.spec.place);
    let attempts = format!("attempt {} of {}", task.attempt, task.spec.retry.max_attempts);
    let deadline =
        task.deadline_at.map_or_else(String::new, |at| format!("; it must be over by {at}"));
    match task.state {
        TaskState::Ready if task.available_at > now => {
            format!("{what} is tried again at {} after {attempts}{deadline}", task.available_at)
        }
        TaskState::Ready => match (&task.assignee, task.spec.kind) {
            (Some(person), _) => format!("{what} waits for {person}{deadline}"),
            (None, TaskKind::User) => format!("{what} waits for a person{deadline}"),
            (None, TaskKind::Engine) => format!("{what} is run by the engine{deadline}"),
            (None, TaskKind::Worker) => {
                let since = task.available_at;
                format!("{what} waits for a worker since {since}{deadline}")
            }
        },
        TaskState::Leased => {
            let lease = task.lease.as_ref();
            let worker = lease.map_or("somebody", |lease| lease.worker.as_str());
            let until = lease.map_or_else(String::new, |lease| format!(" until {}", lease.until));
            format!("{what} is with {worker}{until}, {attempts}{deadline}")
        }
        TaskState::Held => format!("{what} is held by an incident: its workers never came back"),
        TaskState::Done => match &task.outcome {
            Some(TaskOutcome::Failed { failure, .. }) => {
                format!("{what} failed with {}; nobody awaited it", failure.code)
            }
            _ => format!("{what} is done; nobody awaited it"),
        },
    }
}

/// Where an instance stands, and what it waits for.
pub fn explain_instance(row: &InstanceRow, incidents: &[IncidentRow]) -> String {
    let ended = row.ended_at.map_or_else(String::new, |at| format!(" at {at}"));
    let fate = match &row.extra.outcome {
        Some(Outcome::Completed { .. }) => "completed".to_owned(),
        Some(Outcome::Failed { failure, .. }) => {
            format!("failed with {}: {}", failure.code, failure.message)
        }
        Some(Outcome::Cancelled { reason, .. }) => format!("was cancelled: {reason}"),
        None => String::new(),
    };
    if row.phase.is_ended() {
        return format!("the instance {fate}{ended}");
    }
    if let Some(incident) = incidents.first() {
        let (code, message) = (&incident.failure.code, &incident.failure.message);
        return format!("the instance needs somebody: {code}: {message}");
    }
    let open = &row.open;
    let timers = open.timers.values().filter(|timer| timer.kind == TimerKind::Place);
    let next = timers.clone().map(|timer| timer.due_at).min();
    let counts = [
        (open.tasks.len(), "task", "tasks"),
        (timers.count(), "timer", "timers"),
        (open.subscriptions.len(), "signal or message", "signals or messages"),
        (open.children as usize, "child", "children"),
    ];
    let waits: Vec<String> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    let waits = match row.phase {
        Phase::Starting => "its first turn".to_owned(),
        Phase::Yielding => "its next slice of work".to_owned(),
        _ if waits.is_empty() => "somebody to submit a step".to_owned(),
        _ => waits.join(", "),
    };
    let next = next.map_or_else(String::new, |at| format!("; the next timer is due at {at}"));
    let deadline =
        row.deadline_at.map_or_else(String::new, |at| format!("; it must be over by {at}"));
    let closing = if row.phase == Phase::Closing { "is closing and " } else { "" };
    format!("the instance {closing}waits for {waits}{next}{deadline}")
}
