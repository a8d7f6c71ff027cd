//! Explains why something happened or did not, from the history, as data and as a sentence (O2).

mod instance;
mod schedule;
mod task;

pub use instance::explain_instance;
pub use schedule::{explain_occurrence, explain_schedule};
pub use task::{explain_past_task, explain_task};

use meantime_core::{TimerId, Timestamp};

use crate::history::{AuditInfo, CancelCause, Edit, Record};
use crate::open::Key;
use crate::store::{HistoryRow, InstanceRow, TimerKind};

/// The fate of a timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is armed.
    Armed {
        /// The deadline of its instance, if that comes first.
        deadline: Option<Timestamp>,
    },
    /// It is frozen.
    Frozen,
    /// It has fired.
    Fired {
        /// When the turn that took it was committed.
        at: Timestamp,
    },
    /// It was cancelled.
    Cancelled {
        /// When it was cancelled.
        at: Timestamp,
        /// Why.
        cause: CancelCause,
    },
    /// The history knows nothing of such a timer.
    Unknown,
}

/// The history of one timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The timer.
    pub timer: TimerId,
    /// Its kind.
    pub kind: TimerKind,
    /// The element.
    pub element: String,
    /// When it was armed.
    pub armed_at: Option<Timestamp>,
    /// When it is or was due, after all edits.
    pub due_at: Option<Timestamp>,
    /// Edits by operators: when, what, from, to, who.
    pub edits: Vec<(Timestamp, Edit, Timestamp, Timestamp, AuditInfo)>,
    /// Its fate.
    pub fate: Fate,
}

/// The history of a timer, from its instance and that instance's history, in any order.
pub fn explain_timer(row: &InstanceRow, history: &[HistoryRow], timer: TimerId) -> Explanation {
    let mut story = Explanation {
        timer,
        kind: TimerKind::Element,
        element: String::new(),
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
            Record::TimerArmed { key, kind, element, due_at } if *key == self.timer.0 => {
                (self.kind, self.element) = (*kind, element.clone());
                (self.armed_at, self.due_at) = (Some(at), Some(*due_at));
            }
            Record::TimerEdited { key, edit, from, to, audit, .. } if *key == self.timer.0 => {
                self.edits.push((at, *edit, *from, *to, audit.clone()));
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

    /// The history as a sentence.
    pub fn sentence(&self) -> String {
        let what = match self.kind {
            TimerKind::Element => format!("timer at {:?}", self.element),
            TimerKind::Deadline => "deadline".to_owned(),
            TimerKind::TaskDeadline => format!("task deadline at {:?}", self.element),
        };
        let Some(due_at) = self.due_at else {
            return "there is no record of this timer".to_owned();
        };
        let mut text = match self.armed_at {
            Some(armed_at) => format!("the {what}, armed at {armed_at},"),
            None => format!("the {what}"),
        };
        for (at, edit, from, to, audit) in &self.edits {
            let done = match edit {
                Edit::Moved => format!("moved from {from} to {to}"),
                Edit::FiredNow => format!("fired manually instead of at {from}"),
                Edit::Frozen => "frozen".to_owned(),
                Edit::Released => "released".to_owned(),
            };
            let reason = if audit.reason.is_empty() {
                String::new()
            } else {
                format!(" ({})", audit.reason)
            };
            text = format!("{text} was {done} at {at} by {}{reason},", audit.actor);
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
                    CancelCause::ScopeLeft => "the element was left",
                    CancelCause::Ended | CancelCause::Detached => "the instance ended",
                    CancelCause::TaskEnded => "its task had ended",
                };
                format!(" was due at {due_at} and was cancelled at {at} because {why}")
            }
            Fate::Unknown => format!(" was due at {due_at}"),
        };
        text + &fate
    }
}
