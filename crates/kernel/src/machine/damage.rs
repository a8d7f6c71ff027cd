//! Instances whose rows cannot be decoded: each gets an incident, and all others continue (I10).
//!
//! Their rows stay unchanged, so that they can be repaired; only the incident is written. The only
//! command that works on such an instance is cancel: the kernel then ends it with what can be read,
//! without its notation.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{Event, Failure, IncidentId, InstanceId, TaskId};

use super::batch::{Batch, UnitOrigin};
use super::engine::Machine;
use super::io::{Output, Ticket};
use super::mailbox::MailboxItem;
use super::turn_builder::TurnBuilder;
use crate::command::Error;
use crate::store::{InboxRow, IncidentCause, IncidentRow, InstanceRow, TaskRow, Unit, Write};

impl Machine {
    /// Handles an instance of a batch of which something cannot be decoded.
    pub(super) fn handle_damaged(
        &mut self,
        batch: &mut Batch,
        index: usize,
        row: Option<InstanceRow>,
        inbox: &[InboxRow],
        damage: &str,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) {
        match row {
            Some(row) if !row.phase.is_ended() => {
                self.end_or_quarantine(batch, index, row, cancel_in(inbox), damage, tasks);
            }
            row => {
                // The instance has ended: its remaining events have no receiver, so everything open
                // is deleted.
                let writes = vec![Write::ClearOpen { instance: batch.entry_mut(index).id }];
                batch.add_unit(Unit { writes, ..Unit::default() }, UnitOrigin::Aside(None));
                self.answer_ended(batch, index, row, Vec::new(), tasks);
            }
        }
    }

    /// Ends a damaged instance if it is being cancelled; otherwise gives it an incident.
    pub(super) fn end_or_quarantine(
        &mut self,
        batch: &mut Batch,
        index: usize,
        row: InstanceRow,
        cancel: Option<Event>,
        damage: &str,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) {
        let id = row.id;
        self.slow.take_cancel(id);
        let entry = batch.entry_mut(index);
        let by_item = entry.items.iter().find_map(|pending| match &pending.item {
            MailboxItem::Event(event @ Event::Cancel { .. }, audit) => {
                Some((event.clone(), audit.clone()))
            }
            _ => None,
        });
        let cancel = by_item.or(cancel.map(|event| (event, None)));
        let Some((event, audit)) = cancel else {
            let items = std::mem::take(&mut entry.items);
            let callers = items.into_iter().filter_map(|pending| pending.ticket).collect();
            self.quarantine(batch, id, damage, callers);
            self.answer_all_waiters(id);
            return;
        };
        let original = self.config.shared_store.then(|| Box::new(row.clone()));
        let mut builder = Box::new(TurnBuilder::new(row, false));
        builder.original = original;
        builder.forget_damage();
        builder.note_command(&event, audit.as_ref());
        for (number, pending) in entry.items.iter().enumerate() {
            if !matches!(pending.item, MailboxItem::Event(Event::Cancel { .. }, _)) {
                builder.answer(number, Err(Error::InstanceEnded(id)));
            }
        }
        let mut env = self.env(tasks);
        let turn_result = builder.end_by_kernel(&event, None, &mut env);
        self.memory.forget_damage(id);
        self.add_turn_result(batch, index, turn_result);
    }

    /// Handles tasks that cannot be decoded: callers that refer to them get an error, the tasks are
    /// never claimed, and their instances get an incident. Returns whether one of them is newly
    /// found.
    pub(super) fn tasks_damaged(
        &mut self,
        batch: &mut Batch,
        tasks: Vec<(TaskId, String)>,
    ) -> bool {
        if tasks.is_empty() {
            return false;
        }
        let ids: BTreeSet<TaskId> = tasks.iter().map(|(id, _)| *id).collect();
        let mut callers: BTreeMap<InstanceId, Vec<Ticket>> = BTreeMap::new();
        // An entry with a computed turn has already used its tasks, and its answers refer to items
        // by index, so its items stay.
        for entry in batch.entries.iter_mut().filter(|entry| entry.builder.is_none()) {
            let is_about = |item: &MailboxItem| item.task().is_some_and(|task| ids.contains(&task));
            let unable = entry.items.extract_if(.., |pending| is_about(&pending.item));
            let tickets: Vec<Ticket> = unable.filter_map(|pending| pending.ticket).collect();
            callers.entry(entry.id).or_default().extend(tickets);
        }
        for global in &mut batch.global {
            let task = global.action.tasks().first().copied().filter(|task| ids.contains(task));
            if let (Some(task), Some(ticket)) = (task, global.ticket) {
                callers.entry(task.0.instance).or_default().push(ticket);
                global.over = true;
            }
        }
        let mut is_new = false;
        for (task, damage) in tasks {
            is_new |= self.claims.withhold(task);
            let callers = callers.remove(&task.0.instance).unwrap_or_default();
            self.quarantine(batch, task.0.instance, &damage, callers);
        }
        is_new
    }

    /// Opens the incident of a damaged instance, once per machine. Callers get their error after
    /// the incident is committed.
    fn quarantine(
        &mut self,
        batch: &mut Batch,
        id: InstanceId,
        damage: &str,
        callers: Vec<Ticket>,
    ) {
        if !self.memory.note_damage(id) {
            self.report_damaged(id, callers);
            return;
        }
        self.counters.damaged += 1;
        let failure = Failure::new("instance_damaged", damage);
        let row = IncidentRow {
            id: damage_incident(id),
            instance: id,
            cause: IncidentCause::Damage,
            element: String::new(),
            failure,
            raised_at: self.now.engine,
        };
        let writes = vec![Write::PutIncident(row)];
        batch.add_unit(Unit { writes, ..Unit::default() }, UnitOrigin::Damage(id, callers));
        self.output(Output::Damaged(id, damage.to_owned()));
    }

    /// Answers callers that an instance is damaged.
    pub(super) fn report_damaged(&mut self, id: InstanceId, callers: Vec<Ticket>) {
        for ticket in callers {
            self.output(Output::Reply(ticket, Err(Error::InstanceDamaged(id))));
        }
    }
}

impl TurnBuilder {
    /// The lists of a damaged row may be incomplete. The flags are set so that ending the instance
    /// searches the store for everything open, instead of relying on the lists.
    fn forget_damage(&mut self) {
        let (instance, meta) = (self.row.id, &mut self.row.meta);
        (meta.damaged, meta.held, meta.signals) = (None, None, true);
        meta.incidents = meta.incidents.max(1);
        self.row.open.children = self.row.open.children.max(1);
        self.writes.push(Write::ClearOpen { instance });
    }
}

/// The id of the damage incident, derived from the instance, so that every process opens the same
/// incident and not a second one.
pub(super) fn damage_incident(id: InstanceId) -> IncidentId {
    IncidentId::new(id.order(), id.random())
}

/// A cancel that waits in the inbox.
pub(super) fn cancel_in(inbox: &[InboxRow]) -> Option<Event> {
    let is_cancel = |row: &&InboxRow| matches!(row.event, Event::Cancel { .. });
    inbox.iter().find(is_cancel).map(|row| row.event.clone())
}
