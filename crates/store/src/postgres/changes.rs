//! The writes of a resolved plan, grouped by table, so that each table gets a few statements
//! however many units there are.

use std::collections::BTreeMap;

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{AnswerRow, Fence, HistoryRow, InstanceRow, OperationKind, Write};

use super::connection::Call;
use super::fetch::Locked;
use super::{
    answer, clear_open, definition, history, inbox, incident, instance, instance_tag, message,
    message_id, node, occurrence, operation, subscription, task, timer, tree, trigger_start,
};

/// Changes by table, in the order of the units. The last change of a row counts.
#[derive(Default)]
pub(super) struct Changes<'a> {
    pub(super) instances: instance::Changes<'a>,
    inboxes: inbox::Changes<'a>,
    timers: timer::Changes<'a>,
    tasks: task::Changes<'a>,
    messages: message::Changes<'a>,
    subscriptions: subscription::Changes<'a>,
    incidents: incident::Changes<'a>,
    tags: instance_tag::Changes<'a>,
    definitions: definition::Changes<'a>,
    triggers: trigger_start::Changes<'a>,
    occurrences: occurrence::Changes<'a>,
    trees: tree::Changes,
    history: Vec<&'a HistoryRow>,
    answers: BTreeMap<&'a str, &'a AnswerRow>,
    message_ids: BTreeMap<&'a str, Timestamp>,
    resumed: Option<(Timestamp, &'a AuditInfo)>,
    /// Damaged instances that ended.
    cleared: Vec<InstanceId>,
    /// The largest sequence number that is written.
    pub(super) seq: u64,
}

impl<'a> Changes<'a> {
    /// Adds the row of a fence that held on what was locked.
    pub(super) fn fence(&mut self, fence: &'a Fence, locked: &Locked) {
        match fence {
            Fence::Free | Fence::Unchanged { .. } => {}
            Fence::Insert(row) => {
                self.note_instance(row);
                self.instances.insert(row);
            }
            Fence::Turn { row, expected } => {
                self.note_instance(row);
                let counted = locked.counted.get(&row.id).copied();
                self.instances.turn(row, *expected, counted);
            }
            Fence::Task { row, claims } => self.tasks.replace(row, *claims),
        }
    }

    /// Adds one write to its table.
    pub(super) fn write(&mut self, write: &'a Write) {
        match write {
            Write::InsertInstance(row) => {
                self.note_instance(row);
                self.instances.insert(row);
            }
            Write::History(row) => {
                self.note(row.seq);
                self.history.push(row);
            }
            Write::PutInbox(row) => {
                self.note(row.seq);
                self.inboxes.put(row);
            }
            Write::DeleteInbox { instance, seq } => self.inboxes.delete(*instance, *seq),
            Write::ReleaseInbox { instance, incident } => {
                self.inboxes.release(*instance, *incident);
            }
            Write::ClearHeld { instance } => self.inboxes.clear_held(*instance),
            Write::ClearOpen { instance } => self.cleared.push(*instance),
            Write::PutOccurrence(row) => self.occurrences.put(row),
            Write::InsertTimer(row) => self.timers.insert(row),
            Write::DeleteTimer(key) => self.timers.delete(*key),
            Write::MoveTimer { from, to } => self.timers.relocate(*from, *to),
            Write::InsertTask(row) => self.tasks.insert(row),
            Write::UpdateTask { row, claims } => self.tasks.replace(row, *claims),
            Write::DeleteTask { id, .. } => self.tasks.delete(*id),
            Write::DetachTask(id) => self.tasks.detach(*id),
            Write::JoinTree { root } => self.trees.join(*root),
            Write::LeaveTree { root } => self.trees.leave(*root),
            Write::PutMessage(row) => {
                self.note(row.seq);
                self.messages.put(row);
            }
            Write::DeleteMessage { channel, seq } => self.messages.delete(channel, *seq),
            Write::ExpireMessages { channel, now } => self.messages.expire(channel, *now),
            Write::ClearSignals { instance } => self.messages.clear_signals(*instance),
            Write::PutSubscription(row) => {
                self.note(row.seq);
                self.subscriptions.put(row);
            }
            Write::DeleteSubscription { channel, seq } => self.subscriptions.delete(channel, *seq),
            Write::PutIncident(row) => self.incidents.put(row),
            Write::DeleteIncident(id) => self.incidents.delete(*id),
            Write::ClearIncidents { instance } => self.incidents.clear(*instance),
            Write::PutTags { instance, tags, attributes } => {
                self.tags.put(*instance, tags, attributes);
            }
            Write::InsertDefinition(row) => self.definitions.insert(row),
            Write::RetireDefinition(id) => self.definitions.retire(*id),
            Write::PauseDefinition { name, pause } => {
                self.definitions.pause(name, pause.as_ref());
            }
            Write::SetTriggers { name, definition, triggers } => {
                self.triggers.set(name, *definition, triggers);
            }
            Write::PutAnswer(row) => {
                self.answers.insert(&row.key, row);
            }
            Write::PutMessageId { id, expires_at } => {
                self.message_ids.insert(id, *expires_at);
            }
            Write::Resume { at, audit } => self.resumed = Some((*at, audit)),
        }
    }

    /// The statements; those whose results are checked come first.
    pub(super) fn calls(&self) -> Vec<Call<'_>> {
        let mut calls = Vec::new();
        calls.extend(self.instances.insert_call());
        calls.extend(self.instances.turn_call());
        if !self.cleared.is_empty() {
            calls.extend(clear_open::clear(&self.cleared));
        }
        self.tasks.calls(&mut calls);
        self.timers.calls(&mut calls);
        self.inboxes.calls(&mut calls);
        self.messages.calls(&mut calls);
        self.subscriptions.calls(&mut calls);
        self.incidents.calls(&mut calls);
        self.tags.calls(&mut calls);
        self.definitions.calls(&mut calls);
        self.triggers.calls(&mut calls);
        self.occurrences.calls(&mut calls);
        self.trees.calls(&mut calls);
        calls.extend(history::append(&self.history));
        calls.extend(answer::put(&self.answers));
        calls.extend(message_id::put(&self.message_ids));
        if let Some((at, audit)) = self.resumed {
            calls.push(node::resume());
            calls.push(operation::add(OperationKind::Resumed, at, audit));
        }
        calls
    }

    fn note_instance(&mut self, row: &InstanceRow) {
        self.note(row.id.order());
        self.note(row.last_history);
    }

    fn note(&mut self, seq: u64) {
        self.seq = self.seq.max(seq);
    }
}
