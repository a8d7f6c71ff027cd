//! Explains why a task has not ended yet, or how it ended.

use meantime_core::{TaskId, TaskKind, TaskOutcome, Timestamp};

use crate::history::Record;
use crate::store::{HistoryRow, TaskRow, TaskState};

/// The state of a task, what it waits for, and how its last attempt failed.
pub fn explain_task(task: &TaskRow, now: Timestamp) -> String {
    let deadline = task.deadline_at.map_or_else(String::new, |at| format!("; it must end by {at}"));
    let what = format!("the task {:?} at {:?}", task.spec.name, task.spec.element);
    let deadline = if task.state == TaskState::Done { String::new() } else { deadline };
    format!("{what} {}{deadline}", standing(task, now))
}

/// The state of a task, as the end of a sentence.
pub(super) fn standing(task: &TaskRow, now: Timestamp) -> String {
    let attempts = format!("attempt {} of {}", task.attempt, task.spec.retry.max_attempts);
    let failed = match &task.outcome {
        Some(TaskOutcome::Failed { failure, .. }) => {
            format!("; the last attempt failed with {}: {}", failure.code, failure.message)
        }
        _ => String::new(),
    };
    match task.state {
        TaskState::Ready if task.available_at > now => {
            format!("is tried again at {} after {attempts}{failed}", task.available_at)
        }
        TaskState::Ready => match (&task.assignee, task.spec.kind) {
            (Some(person), _) => format!("waits for {person}{failed}"),
            (None, TaskKind::User) => format!("waits for a person{failed}"),
            (None, TaskKind::Engine) => format!("is run by the engine{failed}"),
            (None, TaskKind::Worker) => {
                format!("waits for a worker since {}{failed}", task.available_at)
            }
        },
        TaskState::Leased => {
            let lease = task.lease.as_ref();
            let worker = lease.map_or("a worker", |lease| lease.worker.as_str());
            let until = lease.map_or_else(String::new, |lease| format!(" until {}", lease.until));
            format!("is leased by {worker}{until}, {attempts}{failed}")
        }
        TaskState::Held => {
            format!("is held by an incident: {} leases in a row expired", task.expiries)
        }
        TaskState::Done => match &task.outcome {
            Some(TaskOutcome::Failed { failure, .. }) => {
                let (code, message) = (&failure.code, &failure.message);
                format!("failed with {code}: {message}; the instance did not wait for it")
            }
            _ => "has completed; the instance did not wait for it".to_owned(),
        },
    }
}

/// The history of a task that has ended, from the history of its instance, in any order.
pub fn explain_past_task(history: &[HistoryRow], task: TaskId) -> Option<String> {
    let mut rows: Vec<&HistoryRow> = history.iter().collect();
    rows.sort_by_key(|row| row.seq);
    let mut text: Option<String> = None;
    for (at, record) in rows.iter().flat_map(|row| row.records.iter().map(|it| (row.at, it))) {
        let next = match record {
            Record::TaskScheduled { key, name } if *key == task.0 => {
                text = Some(format!("the task {name:?}, scheduled at {at},"));
                continue;
            }
            Record::AttemptFailed { key, attempt, code, message, .. } if *key == task.0 => {
                format!("failed at attempt {attempt} with {code}: {message} at {at},")
            }
            Record::LeaseExpired { key, worker, .. } if *key == task.0 => {
                format!("had no report from {worker} until {at},")
            }
            Record::Event { name, key, note, message, .. }
                if *key == Some(task.0) && (name == "taskCompleted" || name == "taskFailed") =>
            {
                let how = note.as_ref().map_or_else(
                    || "was completed".to_owned(),
                    |code| {
                        let message = message.as_deref().unwrap_or_default();
                        let colon = if message.is_empty() { "" } else { ": " };
                        format!("failed with {code}{colon}{message}")
                    },
                );
                format!("{how} at {at}")
            }
            Record::TaskCancelled { key, .. } if *key == task.0 => format!("was cancelled at {at}"),
            _ => continue,
        };
        text = text.map(|text| format!("{text} {next}"));
    }
    text
}
