//! Edits of timers, deadlines and incidents by operators, recorded with actor and reason (O1).
//!
//! An edit is a turn without the notation: a timer never changes the data of an instance by itself
//! (T11). It has the same fence as any turn, so an edit and a fire of the same timer cannot both
//! take effect.

use meantime_core::{Event, IncidentId, Json, TaskOutcome, TimerId, Timestamp};

use super::damage::damage_incident;
use super::turn_builder::{EventSource, TurnBuilder, TurnEnv};
use crate::command::{Error, Reply, TimerEdit};
use crate::fault_injection::{InjectedBug, is_injected};
use crate::history::{AuditInfo, Edit, Record};
use crate::open::{Key, OpenTimer};
use crate::store::{ConditionalWrite, IncidentCause, IncidentRow, TaskState, TimerKind, Write};

impl TurnBuilder {
    /// Moves, fires, freezes or releases a timer or the deadline.
    pub(super) fn edit_timer(
        &mut self,
        number: usize,
        id: TimerId,
        edit: TimerEdit,
        audit: &AuditInfo,
        env: &mut TurnEnv<'_>,
    ) {
        let key = Key::from(id.0);
        // It has fired or was cancelled: the open list decides, not the row of the timer (ADR
        // 0004).
        let Some(before) = self.row.open.timers.get(&key).copied() else {
            self.answer(number, Err(Error::UnknownTimer(id)));
            return;
        };
        let (after, edit) = edited(before, edit, env.now.engine);
        self.answer(number, Ok(Reply::Done));
        if after == before {
            return;
        }
        self.row.open.timers.insert(key, after);
        if edit == Edit::FiredNow {
            self.row.open.fired_by.insert(key, audit.clone());
        } else {
            self.row.open.fired_by.remove(&key);
        }
        if before.kind == TimerKind::Deadline {
            self.row.deadline_at = Some(after.due_at);
        }
        let (kind, moved_by) = (before.kind, audit.clone());
        let audit = moved_by.clone();
        let (from, to) = (before.due_at, after.due_at);
        self.records.push(Record::TimerEdited { key: id.0, kind, edit, from, to, audit });
        if before.kind == TimerKind::Deadline && from != to && self.row.open.children > 0 {
            self.move_children(from, to, &moved_by, env);
        }
        let (from, to) = (before.row_key(id.0), after.row_key(id.0));
        self.writes.push(Write::MoveTimer { from, to });
        self.touched = true;
    }

    /// Tells children that may have inherited the deadline; each compares it with its own.
    fn move_children(
        &mut self,
        from: Timestamp,
        to: Timestamp,
        audit: &AuditInfo,
        env: &mut TurnEnv<'_>,
    ) {
        let (actor, reason) = (audit.actor.clone(), audit.reason.clone());
        let event = Event::DeadlineMoved { from, to, actor, reason };
        let (instance, seq) = (self.row.id, env.ids.next(env.now.engine));
        self.conditional_writes.push(ConditionalWrite::NotifyChildren { instance, event, seq });
    }

    /// The parent's deadline was moved. A child has inherited it if its own is the same instant.
    pub(super) fn deadline_moved(
        &mut self,
        from: Timestamp,
        to: Timestamp,
        audit: &AuditInfo,
        env: &mut TurnEnv<'_>,
    ) {
        let own = self.row.open.timers.get(&Key::DEADLINE).map(|timer| timer.due_at);
        if own == Some(from) {
            let timer = self.row.id.deadline_timer();
            self.edit_timer(usize::MAX, timer, TimerEdit::Move(to), audit, env);
        }
    }

    /// Retries an incident, or resolves it with variables.
    pub(super) fn answer_incident(
        &mut self,
        number: usize,
        incident: &IncidentRow,
        variables: Option<&Json>,
        audit: &AuditInfo,
        env: &mut TurnEnv<'_>,
    ) {
        let id = incident.id;
        // Another item of this turn has closed it.
        if self.is_closed(id) {
            self.answer(number, Err(Error::UnknownIncident(id)));
            return;
        }
        // Closing an incident of unknown cause could leave a task held for ever.
        let Some(cause) = self.cause_of(incident) else {
            self.answer(number, Err(Error::InstanceDamaged(self.row.id)));
            return;
        };
        if let Some(variables) = variables {
            self.resolve_incident(number, id, cause, variables, audit, env);
            return;
        }
        match cause {
            IncidentCause::Element(_) if self.suspended().is_some() => {
                let answer = self.suspended().map_or(Ok(Reply::Done), Err);
                self.answer(number, answer);
                return;
            }
            IncidentCause::Element(key) => {
                let event = Event::IncidentRetried { incident: id, key: Some(key) };
                self.deliver(event, EventSource::MailboxItem(number));
            }
            IncidentCause::Turn => {
                let instance = self.row.id;
                self.writes.push(Write::ReleaseInbox { instance, incident: id });
                if self.row.meta.held == Some(id) {
                    self.row.meta.held = None;
                    self.row.meta.ops = 0;
                }
                self.more_inbox = true;
            }
            // The row can be decoded again. A damage incident is not in the row's count of
            // incidents.
            IncidentCause::Damage => {
                self.more_inbox = true;
                self.writes.push(Write::DeleteIncident(id));
                self.records
                    .push(Record::IncidentClosed { incident: id, audit: Some(audit.clone()) });
                self.answer(number, Ok(Reply::Done));
                return;
            }
            IncidentCause::Task(key) => {
                let held = self.task(meantime_core::TaskId(key), env);
                if let Some(mut task) = held.filter(|task| task.state == TaskState::Held) {
                    let claims = task.claims;
                    // New attempts. The number of claims is raised, so that tokens of earlier
                    // claims stay stale.
                    task.state = TaskState::Ready;
                    (task.attempt, task.expiries) = (0, 0);
                    task.claims += 1;
                    task.lease = None;
                    task.available_at = env.now.engine;
                    self.update_task(task, claims);
                }
            }
        }
        self.answer(number, Ok(Reply::Done));
        self.close_incident(id, Some(audit.clone()));
    }

    /// Resolves an incident with variables. An incident of an element is closed only if the
    /// notation takes the resolution: otherwise the element would wait without an incident.
    fn resolve_incident(
        &mut self,
        number: usize,
        id: IncidentId,
        cause: IncidentCause,
        variables: &Json,
        audit: &AuditInfo,
        env: &mut TurnEnv<'_>,
    ) {
        let variables = variables.clone();
        match cause {
            IncidentCause::Element(_) if is_injected(InjectedBug::CloseWithoutResolving) => {
                self.answer(number, Ok(Reply::Done));
                self.close_incident(id, Some(audit.clone()));
            }
            IncidentCause::Element(_) if self.suspended().is_some() => {
                let answer = self.suspended().map_or(Ok(Reply::Done), Err);
                self.answer(number, answer);
            }
            IncidentCause::Element(key) => {
                self.answer(number, Ok(Reply::Done));
                self.resolving.insert(id, audit.clone());
                let event = Event::IncidentResolved { incident: id, key, variables };
                self.deliver(event, EventSource::MailboxItem(number));
            }
            IncidentCause::Task(key) => {
                let held = self.task(meantime_core::TaskId(key), env);
                self.answer(number, Ok(Reply::Done));
                // Closed before the task ends, so that the record names the operator: ending a task
                // closes its incident without an actor.
                self.close_incident(id, Some(audit.clone()));
                let outcome = TaskOutcome::Completed(variables);
                let id_of_task = meantime_core::TaskId(key);
                self.end_task(
                    id_of_task,
                    held.as_ref(),
                    outcome,
                    EventSource::MailboxItem(number),
                    env,
                );
            }
            // Held events or undecodable rows depend on these incidents: variables cannot replace
            // them.
            IncidentCause::Turn | IncidentCause::Damage => {
                self.answer(number, Err(Error::NotResolvable(id)));
            }
        }
    }

    /// The verdict of the notation on a resolution: if it was taken, the incident is closed.
    pub(super) fn incident_resolved(&mut self, id: IncidentId, taken: bool) {
        let audit = self.resolving.remove(&id);
        if taken && self.row.open.incidents.values().any(|open| *open == id) {
            self.close_incident(id, audit);
        }
    }

    /// Why an incident was opened. If its own row cannot be decoded, the instance row may tell: it
    /// lists the incidents of elements and tasks, and without open tasks no task can be held. If
    /// that does not tell either, closing the incident could leave a task held for ever.
    fn cause_of(&self, incident: &IncidentRow) -> Option<IncidentCause> {
        let id = incident.id;
        if incident.cause != IncidentCause::Damage || id == damage_incident(self.row.id) {
            return Some(incident.cause);
        }
        let open = &self.row.open;
        if let Some((key, _)) = open.incidents.iter().find(|(_, open)| **open == id) {
            let is_task = open.tasks.contains_key(key);
            let key = key.of(self.row.id);
            let cause =
                if is_task { IncidentCause::Task(key) } else { IncidentCause::Element(key) };
            return Some(cause);
        }
        let is_turn = self.row.meta.held == Some(id) || open.tasks.is_empty();
        is_turn.then_some(IncidentCause::Turn)
    }

    /// Whether an incident was closed in this turn.
    pub(super) fn is_closed(&self, id: IncidentId) -> bool {
        let closes = |record: &Record| match record {
            Record::IncidentClosed { incident, .. } => *incident == id,
            _ => false,
        };
        self.records.iter().any(closes)
    }

    /// Closes an incident: row, count and record. Several items of a turn may close it; it counts
    /// once.
    pub(super) fn close_incident(&mut self, id: IncidentId, audit: Option<AuditInfo>) {
        if self.is_closed(id) {
            return;
        }
        self.row.open.incidents.retain(|_, open| *open != id);
        self.writes.push(Write::DeleteIncident(id));
        self.records.push(Record::IncidentClosed { incident: id, audit });
        self.row.meta.incidents = self.row.meta.incidents.saturating_sub(1);
        self.touched = true;
    }
}

/// The timer after an edit.
fn edited(before: OpenTimer, edit: TimerEdit, now: Timestamp) -> (OpenTimer, Edit) {
    match edit {
        TimerEdit::Move(due_at) => (OpenTimer { due_at, ..before }, Edit::Moved),
        // The due time is first moved to now, so that a timer that an operator fires is not early
        // (T8).
        TimerEdit::Fire => {
            let due_at = before.due_at.min(now);
            (OpenTimer { due_at, frozen: false, ..before }, Edit::FiredNow)
        }
        TimerEdit::Freeze => (OpenTimer { frozen: true, ..before }, Edit::Frozen),
        TimerEdit::Release => (OpenTimer { frozen: false, ..before }, Edit::Released),
    }
}
