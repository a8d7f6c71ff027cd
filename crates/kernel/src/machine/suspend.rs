//! Suspended instances: operators suspend and resume them, and events wait in between.
//!
//! A suspended instance takes no turn of its notation but three: a correction of variables, a
//! cancel and its deadline. Every other event waits in its inbox, held like an event that faulted,
//! and is released in its order (ADR 0046).

use meantime_core::{Event, IncidentId, InstanceId, TimerId};

use super::mailbox::{MailboxItem, PendingItem};
use super::turn_builder::{EventSource, TurnBuilder, TurnEnv};
use crate::command::{Error, Reply, SuspendedTimers, Suspending, TimerEdit};
use crate::history::{AuditInfo, Edit, Record};
use crate::open::Key;
use crate::store::{InboxRow, Suspension, Write};

impl MailboxItem {
    /// Whether it suspends or resumes the instance.
    pub(super) const fn is_suspending(&self) -> bool {
        matches!(self, Self::Suspending(..))
    }
}

/// Whether an operator suspends or resumes the instance in one of these items. A slice of work must
/// not come before it: an instance that always yields could never be suspended.
pub(super) fn has_suspending(items: &[PendingItem]) -> bool {
    items.iter().any(|pending| pending.item.is_suspending())
}

impl TurnBuilder {
    /// Suspends or resumes the instance. To do what is done already changes nothing.
    pub(super) fn suspend_or_resume(
        &mut self,
        number: usize,
        what: Suspending,
        audit: &AuditInfo,
        env: &mut TurnEnv<'_>,
    ) {
        if env.is_system(&self.row) {
            let text = "schedules are paused and resumed, not suspended";
            self.answer(number, Err(Error::Invalid(text.to_owned())));
            return;
        }
        self.answer(number, Ok(Reply::Done));
        match what {
            Suspending::Suspend(timers) if self.row.meta.suspended.is_none() => {
                self.suspend(timers, audit, env);
            }
            Suspending::Resume if self.row.meta.suspended.is_some() => self.resume(audit, env),
            Suspending::Suspend(_) | Suspending::Resume => {}
        }
    }

    fn suspend(&mut self, timers: SuspendedTimers, audit: &AuditInfo, env: &mut TurnEnv<'_>) {
        self.note_suspending("suspend", audit);
        let mut frozen = Vec::new();
        if timers == SuspendedTimers::Freeze {
            let open = self.row.open.timers.iter();
            frozen = open.filter(|(_, timer)| !timer.frozen).map(|(key, _)| *key).collect();
        }
        for key in &frozen {
            self.edit_suspended(*key, TimerEdit::Freeze, audit, env);
        }
        let (since, audit) = (env.now.engine, audit.clone());
        self.row.meta.suspended = Some(Box::new(Suspension { since, audit, timers, frozen }));
    }

    fn resume(&mut self, audit: &AuditInfo, env: &mut TurnEnv<'_>) {
        let Some(suspension) = self.end_suspension() else { return };
        self.note_suspending("resume", audit);
        for key in suspension.frozen {
            self.edit_suspended(key, TimerEdit::Release, audit, env);
        }
    }

    /// The suspension is over: what it held is in the inbox again. An instance that is ending takes
    /// the ends of its children, and returns messages to their channels.
    pub(super) fn end_suspension(&mut self) -> Option<Box<Suspension>> {
        let suspension = self.row.meta.suspended.take()?;
        let (instance, incident) = (self.row.id, suspension_id(self.row.id));
        self.writes.push(Write::ReleaseInbox { instance, incident });
        self.more_inbox = true;
        self.touched = true;
        Some(suspension)
    }

    fn note_suspending(&mut self, name: &str, audit: &AuditInfo) {
        let (name, audit) = (name.to_owned(), audit.clone());
        self.records.push(Record::Command { name, audit });
        self.touched = true;
    }

    fn edit_suspended(
        &mut self,
        key: Key,
        edit: TimerEdit,
        audit: &AuditInfo,
        env: &mut TurnEnv<'_>,
    ) {
        let timer = TimerId(key.of(self.row.id));
        // It may have fired or been cancelled since: the answer is for nobody.
        self.edit_timer(usize::MAX, timer, edit, audit, env);
    }

    /// An operator edits a timer of a suspended instance: from now on the timer is theirs, and the
    /// end of the suspension does not release it.
    pub(super) fn take_over_timer(&mut self, id: TimerId, edit: TimerEdit, audit: &AuditInfo) {
        let key = Key::from(id.0);
        let Some(suspension) = &mut self.row.meta.suspended else { return };
        let Some(index) = suspension.frozen.iter().position(|frozen| *frozen == key) else {
            return;
        };
        suspension.frozen.remove(index);
        self.touched = true;
        let timer = self.row.open.timers.get(&key).filter(|_| edit == TimerEdit::Freeze);
        if let Some(timer) = timer {
            // It is frozen already: only its owner changes, and the record says so.
            let (from, to, kind) = (timer.due_at, timer.due_at, timer.kind);
            let (edit, audit) = (Edit::Frozen, audit.clone());
            self.records.push(Record::TimerEdited { key: id.0, kind, edit, from, to, audit });
        }
    }

    /// Whether a timer that is armed now is frozen at once; the end of the suspension releases it.
    pub(super) fn freezes_new_timer(&mut self, key: Key) -> bool {
        let Some(suspension) = &mut self.row.meta.suspended else { return false };
        let freezes = suspension.timers == SuspendedTimers::Freeze;
        if freezes {
            suspension.frozen.push(key);
        }
        freezes
    }

    /// The error for callers whose command needs a turn of the notation now.
    pub(super) fn suspended(&self) -> Option<Error> {
        self.row.meta.suspended.as_ref().map(|_| Error::InstanceSuspended(self.row.id))
    }

    /// Moves the events of this turn into the inbox, where they wait for the end of the suspension.
    pub(super) fn hold_events(&mut self, env: &mut TurnEnv<'_>) {
        if self.row.meta.suspended.is_none() {
            return;
        }
        let (instance, held) = (self.row.id, Some(suspension_id(self.row.id)));
        let events = std::mem::take(&mut self.events);
        let sources = std::mem::take(&mut self.sources);
        for (event, source) in events.into_iter().zip(sources) {
            if passes(&event) {
                self.deliver(event, source);
                continue;
            }
            let at = env.now.engine;
            let (seq, at, origin) = match source {
                EventSource::Inbox(row) => (row.seq, row.at, row.origin),
                EventSource::Signal(message) => (env.ids.next(at), at, Some(*message)),
                EventSource::MailboxItem(_) | EventSource::Kernel => (env.ids.next(at), at, None),
            };
            // The wait that it answers stays open, so that it finds it when it is released.
            self.restore_waiters();
            let row = InboxRow { instance, seq, at, event, origin, held };
            self.writes.push(Write::PutInbox(Box::new(row)));
        }
    }
}

/// The events that reach a suspended instance.
const fn passes(event: &Event) -> bool {
    matches!(event, Event::VariablesSet { .. } | Event::Cancel { .. } | Event::DeadlineReached)
}

/// The id under which the inbox holds events of a suspended instance. It is derived from the
/// instance, so that a crash between two commits cannot lose it, and is no id of an incident.
fn suspension_id(instance: InstanceId) -> IncidentId {
    IncidentId::new(instance.order(), !instance.random())
}
