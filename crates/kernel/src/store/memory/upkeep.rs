//! Retention, compaction and the mark of a restored store, on the tables.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{InstanceId, TaskId, Timestamp};

use super::tables::Tables;
use crate::compaction::compact;
use crate::history::AuditInfo;
use crate::store::{
    AnswerRow, CompactRequest, HistoryRow, InstanceRow, MessageRow, OccurrenceRow, OperationKind,
    OperationRow, PurgeRequest, Purged, RetentionDecision, TaskRow, TaskState, next_epoch,
};

impl Tables {
    /// Examines everything: the store is small, and simple code is its purpose.
    pub(super) fn purge(&mut self, request: &PurgeRequest) -> Purged {
        let mut purged = Purged::default();
        let mut next: Option<Timestamp> = None;
        let mut later = |at: Timestamp| next = Some(next.map_or(at, |known| known.min(at)));
        let roots: Vec<InstanceId> = self.instances.keys().copied().collect();
        for id in roots {
            let Some(row) = self.instances.get(&id) else { continue };
            match self.decide_retention(row, request) {
                RetentionDecision::Delete { or_check_at } => {
                    if !self.members(id).iter().all(|id| self.is_over(*id)) {
                        later(or_check_at);
                    } else if purged.rows() < request.limit {
                        self.remove_tree(id, request.limit, &mut purged);
                        if self.instances.contains_key(&id) {
                            later(request.now);
                        }
                    } else {
                        later(request.now);
                    }
                }
                RetentionDecision::CheckAt(at) => later(at),
                RetentionDecision::Keep => {}
            }
        }
        let (now, keep) = (request.now, request.retention.detached_tasks);
        let room = |purged: &Purged| request.limit.saturating_sub(purged.rows());
        let over = |task: &TaskRow| {
            let ended = Some(task.available_at).filter(|_| task.state == TaskState::Done);
            ended.and_then(|at| keep.until(at))
        };
        purged.tasks += expire(&mut self.tasks, now, room(&purged), over, &mut later);
        let keep = request.retention.occurrences;
        let over = |row: &OccurrenceRow| keep.until(row.decided_at);
        purged.occurrences += expire(&mut self.occurrences, now, room(&purged), over, &mut later);
        let over = |message: &MessageRow| message.expires_at;
        purged.messages += expire(&mut self.messages, now, room(&purged), over, &mut later);
        let over = |expires_at: &Timestamp| Some(*expires_at);
        purged.message_ids += expire(&mut self.message_ids, now, room(&purged), over, &mut later);
        let over = |answer: &AnswerRow| Some(answer.expires_at);
        purged.answers += expire(&mut self.answers, now, room(&purged), over, &mut later);
        purged.next = next;
        purged
    }

    fn decide_retention(&self, row: &InstanceRow, request: &PurgeRequest) -> RetentionDecision {
        if row.meta.lineage.as_ref().is_some_and(|it| it.root != row.id) {
            return RetentionDecision::Keep;
        }
        let name = self.name_of(row);
        RetentionDecision::of(request, &name, row.phase, row.started_at, row.ended_at)
    }

    fn name_of(&self, row: &InstanceRow) -> String {
        self.definitions.get(&row.definition).map(|it| it.name.clone()).unwrap_or_default()
    }

    /// The root and all its descendants, parents first.
    fn members(&self, root: InstanceId) -> Vec<InstanceId> {
        let belongs = |row: &&InstanceRow| {
            row.id == root || row.meta.lineage.as_ref().is_some_and(|it| it.root == root)
        };
        self.instances.values().filter(belongs).map(|row| row.id).collect()
    }

    fn is_over(&self, id: InstanceId) -> bool {
        let tasks = TaskId(id.effect(0, 0))..=TaskId(id.effect(u64::MAX, u32::MAX));
        self.instances.get(&id).is_some_and(|row| row.phase.is_ended())
            && self.tasks.range(tasks).all(|(_, task)| task.state == TaskState::Done)
            && self.inbox.range((id, 0)..=(id, u64::MAX)).next().is_none()
    }

    /// Deletes descendants first, so that what is left after the limit still has its root.
    fn remove_tree(&mut self, root: InstanceId, limit: usize, purged: &mut Purged) {
        for id in self.members(root).into_iter().rev() {
            while let Some(row) = self.instances.get_mut(&id)
                && let Some(history) = self.history.get(&row.last_history)
            {
                if purged.rows() >= limit {
                    return;
                }
                let seq = std::mem::replace(&mut row.last_history, history.previous);
                self.history.remove(&seq);
                purged.attachments += 1;
            }
            let before = self.tasks.len();
            self.tasks.retain(|task, _| task.0.instance != id);
            purged.tasks += before - self.tasks.len();
            let before = self.tags.len();
            self.tags.retain(|(_, tagged)| *tagged != id);
            purged.attachments += before - self.tags.len();
            let before = self.occurrences.len();
            self.occurrences.retain(|(schedule, ..), _| *schedule != id);
            purged.occurrences += before - self.occurrences.len();
            self.instances.remove(&id);
            purged.instances += 1;
        }
    }

    pub(super) fn compact(&mut self, request: &CompactRequest) -> usize {
        let Some(row) = self.instances.get(&request.instance) else { return 0 };
        let open = row.open.clone();
        let mut chain: Vec<HistoryRow> = Vec::new();
        let mut next = row.last_history;
        while let Some(row) = self.history.get(&next) {
            next = row.previous;
            chain.push(row.clone());
        }
        chain.reverse();
        let newest = chain.len().saturating_sub(request.keep.max(1));
        let (Some(first), Some(after)) = (chain.first(), chain.get(newest)) else { return 0 };
        let run = chain.get(1..newest).unwrap_or_default();
        let Some(step) = compact(first.seq, run, after.seq, &open) else { return 0 };
        for (seq, previous) in &step.relinked {
            if let Some(row) = self.history.get_mut(seq) {
                row.previous = *previous;
            }
        }
        let dropped: BTreeSet<u64> = step.dropped.into_iter().collect();
        self.history.retain(|seq, _| !dropped.contains(seq));
        self.history.insert(step.summary.seq, step.summary);
        dropped.len()
    }

    pub(super) fn mark_restored(&mut self, now: Timestamp, audit: AuditInfo) -> u32 {
        self.epoch = next_epoch(self.epoch, now);
        self.paused = true;
        self.operate(OperationKind::Restored, now, audit);
        self.epoch
    }

    pub(super) fn resume(&mut self, at: Timestamp, audit: AuditInfo) {
        self.paused = false;
        self.operate(OperationKind::Resumed, at, audit);
    }

    fn operate(&mut self, kind: OperationKind, at: Timestamp, audit: AuditInfo) {
        let number = u64::try_from(self.operations.len()).unwrap_or_default() + 1;
        self.operations.insert(number, OperationRow { number, at, kind, audit });
    }
}

/// Deletes expired rows, up to the limit, and notes when the others expire.
fn expire<K: Ord + Clone, R>(
    rows: &mut BTreeMap<K, R>,
    now: Timestamp,
    room: usize,
    expiry: impl Fn(&R) -> Option<Timestamp>,
    later: &mut impl FnMut(Timestamp),
) -> usize {
    let mut gone = Vec::new();
    for (key, row) in rows.iter() {
        match expiry(row) {
            Some(at) if at <= now && gone.len() < room => gone.push(key.clone()),
            Some(at) => later(at),
            None => {}
        }
    }
    for key in &gone {
        rows.remove(key);
    }
    gone.len()
}
