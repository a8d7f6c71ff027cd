//! Reports on tasks, expired leases and timeouts: outcome, retry or incident.
//!
//! A report counts only with the token of the latest claim (I5). An expired lease uses up no
//! attempt of the retry policy: the worker may never have begun. Several expiries in a row open an
//! incident, because a task that kills its workers must not be offered for ever (P2, P8).

use meantime_core::{Event, Failure, TaskCause, TaskId, TaskKind, TaskOutcome, Timestamp};

use super::mailbox::MailboxItem;
use super::turn_builder::{EventSource, TurnBuilder, TurnEnv};
use crate::clock::Now;
use crate::command::{Error, LeaseToken, Reply, Report};
use crate::history::{AuditInfo, CancelCause, Record};
use crate::open::Key;
use crate::store::{IncidentCause, IncidentRow, TaskRow, TaskState, Write};

/// The failure code of a task whose worker did not report in time.
pub(super) const LEASE_EXPIRED: &str = "LEASE_EXPIRED";

/// Whether the lease of a task is over. The item that says so may be older than the row: the worker
/// may have extended its lease since, or another one may have a lease of its own.
pub(super) fn has_expired(task: &TaskRow, now: Now) -> bool {
    let until = task.lease.as_ref().map(|lease| lease.until);
    task.state == TaskState::Leased && until.is_none_or(|until| until <= now.real)
}

/// Whether the attempt that a task is in has taken too long; the same holds.
pub(super) fn has_timed_out(task: &TaskRow, now: Now) -> bool {
    let timeout_at = task.lease.as_ref().and_then(|lease| lease.timeout_at);
    task.state == TaskState::Leased && timeout_at.is_none_or(|at| at <= now.engine)
}

impl TurnBuilder {
    /// Handles a report, an expired lease or a timeout of a task of this instance.
    pub(super) fn add_report(
        &mut self,
        number: usize,
        id: TaskId,
        item: &MailboxItem,
        env: &mut TurnEnv<'_>,
    ) {
        let Some(task) = self.task(id, env).filter(|task| task.state != TaskState::Done) else {
            // Stale: the task has ended or was cancelled, by an earlier turn or earlier in this
            // one.
            self.lease_lost(number, item, id, env);
            return;
        };
        match item {
            MailboxItem::OperatorReport { report, audit, .. } => {
                self.add_operator_result(number, task, report, audit, env);
            }
            MailboxItem::Report { token, report, .. } => {
                if token_holds(&task, *token, env.epoch) {
                    self.add_task_result(number, task, report, env);
                } else {
                    // Stale: the task was claimed again, failed or was released since this worker
                    // claimed it, or the store was restored. Each of these has raised the number of
                    // claims or the epoch, so this worker must not decide the outcome (I5).
                    self.lease_lost(number, item, id, env);
                }
            }
            MailboxItem::LeaseExpired(_) if has_expired(&task, env.now) => {
                self.lease_expired(task, env);
            }
            MailboxItem::AttemptTimedOut(_) if has_timed_out(&task, env.now) => {
                let failure = Failure::new("TASK_TIMEOUT", "the attempt took too long");
                self.failed(task, failure, TaskCause::Timeout, None, EventSource::Kernel, env);
            }
            // Stale: the lease was extended or released, or the task was claimed again, after this
            // instant was queued. Its new instant is in the queue.
            _ => env.counters.stale_changes += 1,
        }
    }

    fn lease_lost(&mut self, number: usize, item: &MailboxItem, id: TaskId, env: &mut TurnEnv<'_>) {
        if let MailboxItem::OperatorReport { .. } = item {
            self.answer(number, Err(Error::UnknownTask(id)));
        } else if matches!(item, MailboxItem::Report { .. }) {
            env.counters.leases_lost += 1;
            self.answer(number, Err(Error::LeaseLost(id)));
        }
    }

    /// An operator reports in place of a worker. The outcome ends the task, so that a later report
    /// of its worker is stale.
    fn add_operator_result(
        &mut self,
        number: usize,
        mut task: TaskRow,
        report: &Report,
        audit: &AuditInfo,
        env: &mut TurnEnv<'_>,
    ) {
        // Nobody has claimed it: this is an attempt of its own. (Attempts of the engine are counted
        // when they have ended.)
        let is_unclaimed = task.lease.is_none() && task.spec.kind != TaskKind::Engine;
        task.attempt += u32::from(is_unclaimed);
        let name = match report {
            Report::Completed(_) => "completeTask",
            Report::Failed { .. } => "failTask",
        };
        self.records.push(Record::Command { name: name.to_owned(), audit: audit.clone() });
        self.touched = true;
        // Closed before the task ends, so that the record names the operator.
        let incident = self.row.open.incidents.get(&Key::from(task.id.0)).copied();
        if let Some(incident) = incident {
            self.close_incident(incident, Some(audit.clone()));
        }
        self.add_task_result(number, task, report, env);
    }

    fn add_task_result(
        &mut self,
        number: usize,
        task: TaskRow,
        report: &Report,
        env: &mut TurnEnv<'_>,
    ) {
        self.answer(number, Ok(Reply::Done));
        match report {
            Report::Completed(output) => {
                let outcome = TaskOutcome::Completed(output.clone());
                self.end_task(task.id, Some(&task), outcome, EventSource::MailboxItem(number), env);
            }
            Report::Failed { failure, retryable, retry_after_ms, thrown } => {
                let source = EventSource::MailboxItem(number);
                if let Some(thrown) = thrown {
                    let (failure, cause) = (failure.clone(), TaskCause::Reported);
                    let thrown = Some(thrown.clone());
                    let outcome = TaskOutcome::Failed { failure, cause, thrown };
                    self.end_task(task.id, Some(&task), outcome, source, env);
                } else if *retryable {
                    let after = *retry_after_ms;
                    self.failed(task, failure.clone(), TaskCause::Reported, after, source, env);
                } else {
                    let (failure, cause) = (failure.clone(), TaskCause::Reported);
                    let outcome = TaskOutcome::Failed { failure, cause, thrown: None };
                    self.end_task(task.id, Some(&task), outcome, source, env);
                }
            }
        }
    }

    /// An attempt failed: the task is retried, or this was the last attempt.
    fn failed(
        &mut self,
        mut task: TaskRow,
        failure: Failure,
        cause: TaskCause,
        after_ms: Option<u64>,
        source: EventSource,
        env: &mut TurnEnv<'_>,
    ) {
        let (claims, was_held) = (task.claims, task.state == TaskState::Held);
        let (code, message) = (failure.code.clone(), failure.message.clone());
        let outcome = TaskOutcome::Failed { failure, cause, thrown: None };
        if !try_again(&mut task, &outcome, after_ms, env.now.engine) {
            self.end_task(task.id, Some(&task), outcome, source, env);
            return;
        }
        env.counters.retried += 1;
        let (key, attempt) = (task.id.0, task.attempt);
        let retry_at = task.available_at;
        self.records.push(Record::AttemptFailed { key, attempt, code, message, retry_at });
        if was_held {
            // A worker that was believed dead has reported: nothing holds the task any more.
            self.close_incident_of(key);
        }
        self.update_task(task, claims);
    }

    fn lease_expired(&mut self, mut task: TaskRow, env: &mut TurnEnv<'_>) {
        env.counters.leases_expired += 1;
        let claims = task.claims;
        let worker = task.lease.as_ref().map(|lease| lease.worker.clone()).unwrap_or_default();
        expire(&mut task, env.now.engine);
        let (key, expiries) = (task.id.0, task.expiries);
        self.records.push(Record::LeaseExpired { key, worker, expiries });
        if expiries >= env.limits.lease_expiries {
            let text = format!("{expiries} leases in a row expired");
            let failure = Failure::new(LEASE_EXPIRED, text);
            let element = task.spec.element.clone();
            self.raise(IncidentCause::Task(key), element, failure, env);
            task.state = TaskState::Held;
        }
        self.update_task(task, claims);
    }

    /// The task of an incident has ended or is offered again, which closes the incident.
    pub(super) fn close_incident_of(&mut self, task: meantime_core::EffectKey) {
        if let Some(id) = self.row.open.incidents.get(&Key::from(task)).copied() {
            self.close_incident(id, None);
        }
    }

    /// Gives a task its only outcome: an event, or a record if the instance does not wait for it.
    pub(super) fn end_task(
        &mut self,
        id: TaskId,
        task: Option<&TaskRow>,
        outcome: TaskOutcome,
        source: EventSource,
        env: &mut TurnEnv<'_>,
    ) {
        let key = Key::from(id.0);
        // Stale: not in the open list, so the task has an outcome already or was cancelled (ADR
        // 0004).
        let Some(open) = self.row.open.tasks.remove(&key) else {
            self.stale += 1;
            return;
        };
        self.touched = true;
        self.disarm(key, CancelCause::TaskEnded);
        self.close_incident_of(id.0);
        let claims = task.map(|task| task.claims);
        if !open.detached {
            self.delete_task(id, claims);
            if let Some(task) = task {
                let worker = task.lease.as_ref().map(|lease| lease.worker.clone());
                self.reported.insert(id.0, (task.attempt, worker));
            }
            self.deliver(Event::TaskDone { key: id.0, outcome }, source);
            return;
        }
        let code = outcome_code(&outcome);
        self.records.push(Record::DetachedTaskEnded { key: id.0, code });
        match task.cloned().or_else(|| self.task(id, env)) {
            Some(task) => self.update_task(done(&task, outcome, env.now.engine), task.claims),
            None => self.delete_task(id, None),
        }
    }

    /// Opens an incident: row, count and record.
    pub(super) fn raise(
        &mut self,
        cause: IncidentCause,
        element: String,
        failure: Failure,
        env: &mut TurnEnv<'_>,
    ) -> meantime_core::IncidentId {
        let id = env.ids.incident(env.now.engine);
        let (instance, raised_at) = (self.row.id, env.now.engine);
        self.records.push(Record::IncidentRaised { incident: id, failure: failure.clone() });
        if let IncidentCause::Element(key) | IncidentCause::Task(key) = cause {
            self.row.open.incidents.insert(Key::from(key), id);
        }
        let row = IncidentRow { id, instance, cause, element, failure, raised_at };
        self.writes.push(Write::PutIncident(row));
        self.row.meta.incidents += 1;
        self.touched = true;
        id
    }
}

/// A detached task that has ended: kept with its outcome until retention deletes it. The raised
/// number of claims makes later reports stale.
pub(super) fn done(task: &TaskRow, outcome: TaskOutcome, now: Timestamp) -> TaskRow {
    let mut task = task.clone();
    task.state = TaskState::Done;
    task.available_at = now;
    task.outcome = Some(outcome);
    task.lease = None;
    task.claims += 1;
    task
}

/// Whether a report may be accepted: people need no token, workers need the latest one.
pub(super) fn token_holds(task: &TaskRow, token: Option<LeaseToken>, epoch: u32) -> bool {
    match token {
        Some(token) => token == (LeaseToken { epoch, claims: task.claims }),
        None => task.spec.kind == TaskKind::User,
    }
}

/// Makes a task ready for its next attempt, unless the failed one was the last.
fn try_again(
    task: &mut TaskRow,
    outcome: &TaskOutcome,
    after_ms: Option<u64>,
    now: Timestamp,
) -> bool {
    if task.spec.kind == TaskKind::Engine {
        // Attempts of workers are counted when the task is claimed; those of the engine, which
        // claims nothing, when they have ended.
        task.attempt += 1;
    }
    let Some(wait_ms) = task.spec.retry.delay_ms(task.id.0, task.attempt) else { return false };
    let wait = i64::try_from(after_ms.unwrap_or(wait_ms)).unwrap_or(i64::MAX);
    task.state = TaskState::Ready;
    task.available_at = now.saturating_add_millis(wait);
    // The failed attempt ends its lease: a second report with the same token is stale.
    task.claims += 1;
    task.expiries = 0;
    task.lease = None;
    task.outcome = Some(outcome.clone());
    true
}

/// Makes a task ready again after its lease expired. The lease stays in the row: its token remains
/// valid until another worker claims the task, so that a late worker can still report, and that
/// claim repeats the same attempt.
pub(super) fn expire(task: &mut TaskRow, now: Timestamp) {
    let worker = task.lease.as_ref().map_or("the worker", |lease| lease.worker.as_str());
    let failure = Failure::new(LEASE_EXPIRED, format!("{worker} did not report in time"));
    let cause = TaskCause::LeaseExpired;
    task.outcome = Some(TaskOutcome::Failed { failure, cause, thrown: None });
    task.expiries += 1;
    task.state = TaskState::Ready;
    task.available_at = now;
}

/// A detached task after a report, if its instance has ended: done, or ready for its next attempt.
pub(super) fn after_report(
    task: &TaskRow,
    report: &Report,
    cause: TaskCause,
    now: Timestamp,
) -> TaskRow {
    let (failure, retryable, after_ms, thrown) = match report {
        Report::Completed(output) => {
            return done(task, TaskOutcome::Completed(output.clone()), now);
        }
        Report::Failed { failure, retryable, retry_after_ms, thrown } => {
            (failure.clone(), *retryable, *retry_after_ms, thrown.clone())
        }
    };
    let may_retry = retryable && thrown.is_none();
    let outcome = TaskOutcome::Failed { failure, cause, thrown };
    let mut again = task.clone();
    if may_retry && try_again(&mut again, &outcome, after_ms, now) {
        return again;
    }
    done(&again, outcome, now)
}

fn outcome_code(outcome: &TaskOutcome) -> Option<String> {
    match outcome {
        TaskOutcome::Completed(_) => None,
        TaskOutcome::Failed { failure, .. } => Some(failure.code.clone()),
    }
}
