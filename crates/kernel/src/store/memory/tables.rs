//! The tables, and how writes change them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;
use std::sync::Arc;

use meantime_core::{
    DefinitionId, EffectKey, IncidentId, InstanceId, OccurrenceOutcome, TaskId, Timestamp, Trigger,
};

use super::lock::Locks;
use super::nodes::Nodes;
use crate::open::Key;
use crate::store::{
    AnswerRow, ChannelKey, ChannelKind, ChannelSnapshot, ChildRef, ClaimQuery, DefinitionHead,
    DefinitionRow, Fence, Fenced, Fences, HistoryRow, InboxRow, IncidentRow, InstanceRow, Lookups,
    MessageRow, OccurrenceRow, OperationRow, Phase, Snapshot, SubscriptionRow, TaskRow, TaskState,
    TimerKey, TimerRow, Tree, Write,
};

/// All rows, by key.
#[derive(Debug, Default, Clone)]
pub(super) struct Tables {
    pub(super) epoch: u32,
    pub(super) paused: bool,
    pub(super) operations: BTreeMap<u64, OperationRow>,
    pub(super) clock: Timestamp,
    pub(super) nodes: Nodes,
    pub(super) locks: Locks,
    pub(super) seq: u64,
    pub(super) instances: BTreeMap<InstanceId, InstanceRow>,
    pub(super) children: BTreeMap<EffectKey, ChildRef>,
    /// Live instances below each root.
    pub(super) trees: BTreeMap<InstanceId, u64>,
    pub(super) live_keys: BTreeSet<(String, InstanceId)>,
    pub(super) inbox: BTreeMap<(InstanceId, u64), InboxRow>,
    /// By schedule, occurrence, and whether a run was started.
    pub(super) occurrences: BTreeMap<(InstanceId, Timestamp, bool), OccurrenceRow>,
    pub(super) timers: BTreeMap<TimerKey, TimerRow>,
    pub(super) tasks: BTreeMap<TaskId, TaskRow>,
    pub(super) messages: BTreeMap<(ChannelKey, u64), MessageRow>,
    pub(super) subscriptions: BTreeMap<(ChannelKey, u64), SubscriptionRow>,
    pub(super) incidents: BTreeMap<IncidentId, IncidentRow>,
    pub(super) history: BTreeMap<u64, HistoryRow>,
    pub(super) definitions: BTreeMap<DefinitionId, DefinitionRow>,
    pub(super) triggers: BTreeMap<(ChannelKind, String), BTreeMap<String, (DefinitionId, Trigger)>>,
    pub(super) answers: BTreeMap<String, AnswerRow>,
    pub(super) message_ids: BTreeMap<String, Timestamp>,
    pub(super) tags: BTreeSet<(String, InstanceId)>,
}

impl Tables {
    /// Turn numbers and claims that the fences of a plan depend on.
    pub(super) fn fences(&self, of: &Fenced) -> Fences {
        let mut fences = Fences::default();
        for row in of.instances.union(&of.new).filter_map(|id| self.instances.get(id)) {
            fences.add_instance(row.id, row.turn_no);
        }
        for row in of.tasks.iter().filter_map(|id| self.tasks.get(id)) {
            fences.add_task(row.id, row.claims);
        }
        fences
    }

    /// Whether the deadline of its instance comes before the timer (D3).
    pub(super) fn never_fires(&self, timer: &TimerRow) -> bool {
        let owner = self.instances.get(&timer.id.0.instance);
        let open = owner.and_then(|it| Some((it, it.open.timers.get(&Key::from(timer.id.0))?)));
        open.is_some_and(|(owner, timer)| owner.open.ends_before(timer))
    }

    /// Writes the row of a fence that held.
    pub(super) fn apply_fence(&mut self, fence: Fence) {
        match fence {
            Fence::Free | Fence::Unchanged { .. } => {}
            Fence::Insert(row) | Fence::Turn { row, .. } => {
                self.put_instance(Arc::unwrap_or_clone(row));
            }
            Fence::Task { row, .. } => self.replace_task(*row),
        }
    }

    /// Replaces a task. A detached task stays detached: the writer may have read the row before.
    fn replace_task(&mut self, mut row: TaskRow) {
        row.spec.detached |= self.tasks.get(&row.id).is_some_and(|known| known.spec.detached);
        self.tasks.insert(row.id, row);
    }

    fn put_instance(&mut self, row: InstanceRow) {
        if let Some(lineage) = &row.meta.lineage {
            if row.phase.is_ended() {
                self.children.remove(&lineage.parent);
            } else {
                let (key, id, close) = (lineage.parent, row.id, lineage.close);
                self.children.insert(key, ChildRef { key, id, close });
            }
        }
        if let Some(key) = &row.key {
            if row.phase.is_ended() {
                self.live_keys.remove(&(key.clone(), row.id));
            } else {
                self.live_keys.insert((key.clone(), row.id));
            }
        }
        self.seq = self.seq.max(row.id.order()).max(row.last_history);
        self.instances.insert(row.id, row);
    }

    /// Makes one write.
    pub(super) fn apply(&mut self, write: Write) {
        match write {
            Write::InsertInstance(row) => self.put_instance(*row),
            Write::History(row) => {
                self.seq = self.seq.max(row.seq);
                self.history.insert(row.seq, row);
            }
            Write::PutInbox(row) => {
                self.seq = self.seq.max(row.seq);
                self.inbox.insert((row.instance, row.seq), *row);
            }
            Write::DeleteInbox { instance, seq } => {
                self.inbox.remove(&(instance, seq));
            }
            Write::ReleaseInbox { instance, incident } => self.release_inbox(instance, incident),
            Write::ClearHeld { instance } => {
                let range = (instance, 0)..=(instance, u64::MAX);
                drop_range(&mut self.inbox, range, |row| row.held.is_some());
            }
            Write::ClearOpen { instance } => self.clear_open(instance),
            Write::PutOccurrence(row) => {
                let is_start = row.occurrence.outcome == OccurrenceOutcome::Started;
                let key = (row.schedule, row.occurrence.scheduled_at, is_start);
                self.occurrences.insert(key, row);
            }
            Write::InsertTimer(row) => {
                self.timers.insert(row.key(), row);
            }
            Write::DeleteTimer(key) => {
                self.timers.remove(&key);
            }
            Write::MoveTimer { from, to } => self.move_timer(from, to),
            Write::InsertTask(row) | Write::UpdateTask { row, .. } => self.replace_task(*row),
            Write::DeleteTask { id, .. } => {
                self.tasks.remove(&id);
            }
            Write::DetachTask(id) => {
                if let Some(task) = self.tasks.get_mut(&id) {
                    task.spec.detached = true;
                }
            }
            Write::JoinTree { root } => *self.trees.entry(root).or_default() += 1,
            Write::LeaveTree { root } => self.leave_tree(root),
            Write::PutMessage(row) => {
                self.seq = self.seq.max(row.seq);
                self.messages.insert((row.channel.clone(), row.seq), row);
            }
            Write::DeleteMessage { channel, seq } => {
                self.messages.remove(&(channel, seq));
            }
            Write::ExpireMessages { channel, now } => {
                let range = (channel.clone(), 0)..=(channel, u64::MAX);
                drop_range(&mut self.messages, range, |row| {
                    row.expires_at.is_some_and(|expiry| expiry <= now)
                });
            }
            Write::ClearSignals { instance } => self.clear_signals(instance),
            Write::PutSubscription(row) => {
                self.seq = self.seq.max(row.seq);
                self.subscriptions.insert((row.channel.clone(), row.seq), row);
            }
            Write::DeleteSubscription { channel, seq } => {
                self.subscriptions.remove(&(channel, seq));
            }
            Write::PutIncident(row) => {
                self.incidents.insert(row.id, row);
            }
            Write::DeleteIncident(id) => {
                self.incidents.remove(&id);
            }
            Write::ClearIncidents { instance } => {
                self.incidents.retain(|_, row| row.instance != instance);
            }
            Write::PutTags { instance, tags, attributes } => {
                let named = attributes.into_iter().map(|it| format!("{}={}", it.name, it.value));
                self.tags.extend(tags.into_iter().chain(named).map(|tag| (tag, instance)));
            }
            Write::InsertDefinition(row) => {
                self.definitions.insert(row.id, *row);
            }
            Write::RetireDefinition(id) => {
                if let Some(row) = self.definitions.get_mut(&id) {
                    row.retired = true;
                }
            }
            Write::PauseDefinition { name, pause } => {
                for row in self.definitions.values_mut().filter(|row| row.name == name) {
                    row.paused.clone_from(&pause);
                }
            }
            Write::SetTriggers { name, definition, triggers } => {
                self.set_triggers(&name, definition, triggers);
            }
            Write::PutAnswer(row) => {
                self.answers.insert(row.key.clone(), row);
            }
            Write::PutMessageId { id, expires_at } => {
                self.message_ids.insert(id, expires_at);
            }
            Write::Resume { at, audit } => self.resume(at, audit),
        }
    }

    fn release_inbox(&mut self, instance: InstanceId, incident: IncidentId) {
        for (_, row) in self.inbox.range_mut((instance, 0)..=(instance, u64::MAX)) {
            row.held = row.held.filter(|held| *held != incident);
        }
    }

    fn clear_open(&mut self, instance: InstanceId) {
        self.timers.retain(|key, _| key.id.0.instance != instance);
        self.tasks.retain(|id, _| id.0.instance != instance);
        self.subscriptions.retain(|_, row| row.key.instance != instance);
        self.inbox.retain(|(of, _), _| *of != instance);
    }

    fn move_timer(&mut self, from: TimerKey, to: TimerKey) {
        if let Some(mut row) = self.timers.remove(&from) {
            (row.frozen, row.due_at) = (to.frozen, to.due_at);
            self.timers.insert(to, row);
        }
    }

    fn leave_tree(&mut self, root: InstanceId) {
        let live = self.trees.get(&root).map_or(0, |live| live.saturating_sub(1));
        if live == 0 {
            self.trees.remove(&root);
        } else {
            self.trees.insert(root, live);
        }
    }

    fn clear_signals(&mut self, instance: InstanceId) {
        let first = ChannelKey::signal(instance, "");
        let same =
            |row: &MessageRow| row.channel.kind == first.kind && row.channel.key == first.key;
        let rows = self.messages.range((first.clone(), 0)..);
        let rows = rows.take_while(|(_, row)| same(row)).map(|(key, _)| key.clone());
        for key in rows.collect::<Vec<_>>() {
            self.messages.remove(&key);
        }
    }

    fn set_triggers(&mut self, name: &str, definition: DefinitionId, triggers: Vec<Trigger>) {
        for started in self.triggers.values_mut() {
            started.remove(name);
        }
        for trigger in triggers {
            let key = match &trigger {
                Trigger::Message { name, .. } => (ChannelKind::Message, name.clone()),
                Trigger::Signal { name, .. } => (ChannelKind::Broadcast, name.clone()),
                // Timer triggers are schedules, which the deploy has created.
                Trigger::Timer { .. } => continue,
            };
            self.triggers.entry(key).or_default().insert(name.to_owned(), (definition, trigger));
        }
    }

    /// What resolving a plan needs to know.
    pub(super) fn find(&self, lookups: &Lookups, now: Timestamp) -> Snapshot {
        let mut found = Snapshot {
            next_definition: self.definitions.last_key_value().map_or(1, |(id, _)| id.0 + 1),
            ..Snapshot::default()
        };
        for key in &lookups.starts {
            let started = self.triggers.get(key).into_iter().flat_map(BTreeMap::values);
            let starts = started.filter_map(|(id, trigger)| {
                Some((head(self.definitions.get(id)?), trigger.clone()))
            });
            found.starts.insert(key.clone(), starts.collect());
        }
        let start_keys = lookups.start_keys(&found);
        for wanted in lookups.keys.union(&start_keys) {
            if let Some(id) = self.live_with_key(&wanted.0, &wanted.1) {
                found.keys.insert(wanted.clone(), id);
            }
        }
        for key in &lookups.requests {
            found.requests.extend(self.answers.get(key).map(|row| (key.clone(), row.clone())));
        }
        for id in &lookups.messages {
            if self.message_ids.get(id).is_some_and(|expiry| *expiry > now) {
                found.messages.insert(id.clone());
            }
        }
        for (channel, limit) in &lookups.channels {
            found.channels.insert(channel.clone(), self.channel(channel, *limit, lookups, now));
        }
        for name in &lookups.definitions {
            let rows = self.definitions.values().rev().filter(|row| row.name == *name);
            found.definitions.insert(name.clone(), rows.map(head).collect());
        }
        for wanted in &lookups.occurrences {
            if self.occurrences.contains_key(&(wanted.0, wanted.1, true)) {
                found.occurrences.insert(*wanted);
            }
        }
        for tag in &lookups.tags {
            let from = (tag.clone(), InstanceId::new(0, 0));
            let tagged = self.tags.range(from..).take_while(|(known, _)| known == tag);
            let live = tagged.map(|(_, id)| *id).filter(|id| self.is_live(*id));
            found.tagged.insert(tag.clone(), live.collect());
        }
        for root in &lookups.trees {
            let phase = self.instances.get(root).map(|row| row.phase);
            let is_ending = phase.is_some_and(Phase::ends_children);
            found
                .trees
                .extend(self.trees.get(root).map(|it| (*root, Tree { live: *it, is_ending })));
        }
        for parent in &lookups.children {
            found.children.insert(*parent, self.children_of(*parent));
        }
        found.live = lookups.live.iter().filter(|id| self.is_live(**id)).copied().collect();
        found
    }

    fn is_live(&self, id: InstanceId) -> bool {
        self.instances.get(&id).is_some_and(|row| !row.phase.is_ended())
    }

    fn live_with_key(&self, definition: &str, key: &str) -> Option<InstanceId> {
        let named = |id: &InstanceId| {
            let row = self.instances.get(id)?;
            let known = self.definitions.get(&row.definition)?;
            (known.name == definition).then_some(*id)
        };
        let from = (key.to_owned(), InstanceId::new(0, 0));
        let holders = self.live_keys.range(from..).take_while(|(held, _)| held == key);
        holders.map(|(_, id)| id).find_map(named)
    }

    fn channel(
        &self,
        channel: &ChannelKey,
        limit: usize,
        lookups: &Lookups,
        now: Timestamp,
    ) -> ChannelSnapshot {
        let range = (channel.clone(), 0)..=(channel.clone(), u64::MAX);
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        let readers = lookups.readers.get(channel).into_iter().flatten();
        left.extend(readers.map(|name| (name.as_str(), limit)));
        let fresh = |row: &&MessageRow| row.expires_at.is_none_or(|expiry| expiry > now);
        let messages = self.messages.range(range.clone()).map(|(_, row)| row).filter(fresh);
        let messages = messages.filter(|row| {
            let mut wanted = lookups.returned.contains(&(channel.clone(), row.seq));
            for (reader, left) in &mut left {
                if *left > 0 && !row.was_had_by(reader) {
                    (*left, wanted) = (*left - 1, true);
                }
            }
            wanted
        });
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let subscriptions = self.subscriptions.range(range).map(|(_, row)| row).filter(|row| {
            let seen = seen.entry(&row.definition).or_default();
            *seen += 1;
            *seen <= limit
        });
        ChannelSnapshot {
            messages: messages.cloned().collect(),
            subscriptions: subscriptions.cloned().collect(),
        }
    }

    pub(super) fn children_of(&self, parent: InstanceId) -> Vec<ChildRef> {
        let range = parent.effect(0, 0)..=parent.effect(u64::MAX, u32::MAX);
        self.children.range(range).map(|(_, child)| *child).collect()
    }

    /// Ready tasks for a worker: by priority, then age.
    pub(super) fn claimable(&self, query: &ClaimQuery, now: Timestamp) -> Vec<TaskRow> {
        let wanted = |task: &&TaskRow| {
            task.state == TaskState::Ready
                && task.spec.kind == meantime_core::TaskKind::Worker
                && task.available_at <= now
                && (query.types.is_empty() || query.types.contains(&task.spec.name))
                && (query.queues.contains(&task.spec.queue)
                    || (query.queues.is_empty() && task.spec.queue.is_empty()))
                && !query.busy.contains(&task.id)
        };
        let mut ready: Vec<&TaskRow> = self.tasks.values().filter(wanted).collect();
        ready.sort_by_key(|task| (-i64::from(task.spec.priority), task.available_at, task.id));
        ready.into_iter().take(query.limit).cloned().collect()
    }
}

/// Removes rows of a range that match, without scanning others.
fn drop_range<K: Ord + Clone, R>(
    rows: &mut BTreeMap<K, R>,
    range: impl RangeBounds<K>,
    goes: impl Fn(&R) -> bool,
) {
    let gone: Vec<K> =
        rows.range(range).filter(|(_, row)| goes(row)).map(|(key, _)| key.clone()).collect();
    for key in gone {
        rows.remove(&key);
    }
}

fn head(row: &DefinitionRow) -> DefinitionHead {
    DefinitionHead {
        id: row.id,
        name: row.name.clone(),
        version: row.version,
        label: row.label.clone(),
        hash: row.hash.clone(),
        retired: row.retired,
        paused: row.paused.clone(),
        triggers: row.triggers.clone(),
    }
}
