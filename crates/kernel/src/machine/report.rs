//! What workers say of tasks, and what their silence says: outcome, retry, incident.
//!
//! A report counts only with the token of the latest claim (I5). A lease expiry counts as an
//! attempt, and several in a row as an incident: a task that kills its workers must not go round
//! for ever (P8).

use meantime_core::{Event, Failure, TaskCause, TaskId, TaskKind, TaskOutcome, Timestamp};

use super::assembly::{Assembly, Kit, Source};
use super::slot::Item;
use crate::command::{Error, LeaseToken, Reply, Report};
use crate::history::{Record, Withdrawn};
use crate::open::Key;
use crate::store::{IncidentCause, IncidentRow, TaskRow, TaskState, Write};

impl Assembly {
    /// Judges a report, a lease expiry or a timeout of a task of this instance.
    pub(super) fn take_report(&mut self, number: usize, item: &Item, kit: &mut Kit<'_>) {
        let Some(id) = item.task() else { return };
        let Some(task) = self.task(id, kit).filter(|task| task.state != TaskState::Done) else {
            self.lease_lost(number, item, id, kit);
            return;
        };
        match item {
            Item::Report { token, report, .. } => {
                if token_holds(&task, *token, kit.epoch) {
                    self.take_result(number, task, report, kit);
                } else {
                    self.lease_lost(number, item, id, kit);
                }
            }
            Item::LeaseExpired(_) if task.state == TaskState::Leased => {
                self.lease_expired(task, kit);
            }
            Item::AttemptTimedOut(_) if task.state == TaskState::Leased => {
                let failure = Failure::new("TASK_TIMEOUT", "the attempt took too long");
                self.failed(task, failure, TaskCause::Timeout, None, Source::Kernel, kit);
            }
            _ => {}
        }
    }

    fn lease_lost(&mut self, number: usize, item: &Item, id: TaskId, kit: &mut Kit<'_>) {
        if matches!(item, Item::Report { .. }) {
            kit.counters.leases_lost += 1;
            self.answer(number, Err(Error::LeaseLost(id)));
        }
    }

    fn take_result(&mut self, number: usize, task: TaskRow, report: &Report, kit: &mut Kit<'_>) {
        self.answer(number, Ok(Reply::Done));
        match report {
            Report::Completed(output) => {
                let outcome = TaskOutcome::Completed(output.clone());
                self.end_task(task.id, Some(&task), outcome, Source::Item(number), kit);
            }
            Report::Failed { failure, retryable, retry_after_ms, thrown } => {
                let source = Source::Item(number);
                if let Some(thrown) = thrown {
                    let (failure, cause) = (failure.clone(), TaskCause::Reported);
                    let thrown = Some(thrown.clone());
                    let outcome = TaskOutcome::Failed { failure, cause, thrown };
                    self.end_task(task.id, Some(&task), outcome, source, kit);
                } else if *retryable {
                    let after = *retry_after_ms;
                    self.failed(task, failure.clone(), TaskCause::Reported, after, source, kit);
                } else {
                    let (failure, cause) = (failure.clone(), TaskCause::Reported);
                    let outcome = TaskOutcome::Failed { failure, cause, thrown: None };
                    self.end_task(task.id, Some(&task), outcome, source, kit);
                }
            }
        }
    }

    /// An attempt failed: another one follows, or that was the last.
    fn failed(
        &mut self,
        mut task: TaskRow,
        failure: Failure,
        cause: TaskCause,
        after_ms: Option<u64>,
        source: Source,
        kit: &mut Kit<'_>,
    ) {
        if task.spec.kind == TaskKind::Engine {
            // Workers' attempts are counted by the claim; the engine's own when they are over.
            task.attempt += 1;
        }
        let Some(wait_ms) = task.spec.retry.delay_ms(task.id.0, task.attempt) else {
            let outcome = TaskOutcome::Failed { failure, cause, thrown: None };
            self.end_task(task.id, Some(&task), outcome, source, kit);
            return;
        };
        kit.counters.retried += 1;
        let wait = i64::try_from(after_ms.unwrap_or(wait_ms)).unwrap_or(i64::MAX);
        let claims = task.claims;
        task.state = TaskState::Ready;
        task.available_at = kit.now.engine.saturating_add_millis(wait);
        task.claims += 1;
        task.expiries = 0;
        task.lease = None;
        self.update_task(task, claims);
    }

    fn lease_expired(&mut self, mut task: TaskRow, kit: &mut Kit<'_>) {
        kit.counters.leases_expired += 1;
        let claims = task.claims;
        task.expiries += 1;
        let failure = Failure::new("LEASE_EXPIRED", "the worker did not come back");
        if task.expiries >= kit.limits.lease_expiries {
            let text = format!("{} leases in a row expired", task.expiries);
            let failure = Failure::new("LEASE_EXPIRED", text);
            let (place, cause) = (task.spec.place.clone(), IncidentCause::Task(task.id.0));
            self.raise(cause, place, failure, kit);
            task.state = TaskState::Held;
            self.update_task(task, claims);
        } else if task.attempt >= task.spec.retry.max_attempts {
            let cause = TaskCause::LeaseExpired;
            let outcome = TaskOutcome::Failed { failure, cause, thrown: None };
            self.end_task(task.id, Some(&task), outcome, Source::Kernel, kit);
        } else {
            // The token stays good until somebody claims the task again.
            task.state = TaskState::Ready;
            task.available_at = kit.now.engine;
            self.update_task(task, claims);
        }
    }

    /// A task has its one outcome: an event, or a record when nobody awaits it.
    pub(super) fn end_task(
        &mut self,
        id: TaskId,
        task: Option<&TaskRow>,
        outcome: TaskOutcome,
        source: Source,
        kit: &mut Kit<'_>,
    ) {
        let key = Key::from(id.0);
        let Some(open) = self.row.open.tasks.remove(&key) else { return };
        self.touched = true;
        self.disarm(key, Withdrawn::TaskOver);
        let claims = task.map(|task| task.claims);
        if !open.detached {
            self.delete_task(id, claims);
            self.deliver(Event::TaskDone { key: id.0, outcome }, source);
            return;
        }
        let code = outcome_code(&outcome);
        self.records.push(Record::DetachedDone { key: id.0, code });
        match task.cloned().or_else(|| self.task(id, kit)) {
            Some(task) => self.update_task(done(&task, outcome, kit.now.engine), task.claims),
            None => self.delete_task(id, None),
        }
    }

    /// Raises an incident: row, count and record.
    pub(super) fn raise(
        &mut self,
        cause: IncidentCause,
        place: String,
        failure: Failure,
        kit: &mut Kit<'_>,
    ) -> meantime_core::IncidentId {
        let id = kit.ids.incident(kit.now.engine);
        let (instance, raised_at) = (self.row.id, kit.now.engine);
        self.records.push(Record::IncidentRaised { incident: id, failure: failure.clone() });
        if let IncidentCause::Place(key) = cause {
            self.row.open.incidents.insert(Key::from(key), id);
        }
        let row = IncidentRow { id, instance, cause, place, failure, raised_at };
        self.writes.push(Write::PutIncident(row));
        self.row.extra.incidents += 1;
        self.touched = true;
        id
    }
}

/// A detached task that is over: kept with its outcome until retention.
pub(super) fn done(task: &TaskRow, outcome: TaskOutcome, now: Timestamp) -> TaskRow {
    let mut task = task.clone();
    task.state = TaskState::Done;
    task.available_at = now;
    task.outcome = Some(outcome);
    task.lease = None;
    task.claims += 1;
    task
}

/// Whether a report may be believed: people need no token, workers the latest one.
pub(super) fn token_holds(task: &TaskRow, token: Option<LeaseToken>, epoch: u32) -> bool {
    match token {
        Some(token) => token == (LeaseToken { epoch, claims: task.claims }),
        None => task.spec.kind == TaskKind::User,
    }
}

/// The outcome of a report on a detached task whose instance is over.
pub(super) fn final_outcome(
    task: &TaskRow,
    report: &Report,
    now: Timestamp,
) -> Result<TaskOutcome, Box<TaskRow>> {
    match report {
        Report::Completed(output) => Ok(TaskOutcome::Completed(output.clone())),
        Report::Failed { failure, retryable, retry_after_ms, thrown } => {
            let wait = task.spec.retry.delay_ms(task.id.0, task.attempt);
            match wait.filter(|_| *retryable && thrown.is_none()) {
                Some(wait_ms) => {
                    let wait = i64::try_from(retry_after_ms.unwrap_or(wait_ms)).unwrap_or(i64::MAX);
                    let mut again = task.clone();
                    again.state = TaskState::Ready;
                    again.available_at = now.saturating_add_millis(wait);
                    again.claims += 1;
                    again.lease = None;
                    Err(Box::new(again))
                }
                None => Ok(TaskOutcome::Failed {
                    failure: failure.clone(),
                    cause: TaskCause::Reported,
                    thrown: thrown.clone(),
                }),
            }
        }
    }
}

fn outcome_code(outcome: &TaskOutcome) -> Option<String> {
    match outcome {
        TaskOutcome::Completed(_) => None,
        TaskOutcome::Failed { failure, .. } => Some(failure.code.clone()),
    }
}
