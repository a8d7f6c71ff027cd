//! Callers that wait until an instance and all its descendants are idle.
//!
//! The tree is read up to the first member that is not idle, and read again only when that member
//! has become idle. So a parent of ten thousand children is not read ten thousand times.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use meantime_core::InstanceId;

use super::engine::Machine;
use super::io::Output;
use super::mailbox::Mailbox;
use crate::command::Wait;
use crate::store::{InstanceRow, Phase};

/// Trees that callers wait for.
#[derive(Debug, Default)]
pub(super) struct Trees {
    /// By the member that is not idle: the roots to read again when it becomes idle.
    blocked_by: BTreeMap<InstanceId, BTreeSet<InstanceId>>,
    /// Trees being read, each with the members that left their batch since the read began.
    reading: BTreeMap<InstanceId, BTreeSet<InstanceId>>,
}

/// Whether an instance itself waits only for time, signals, messages, steps or people.
pub fn rests_by_itself(row: &InstanceRow) -> bool {
    let waits = matches!(row.phase, Phase::Running | Phase::Closing) || row.meta.damaged.is_some();
    (waits || row.meta.held.is_some() || row.phase.is_ended()) && row.open.has_no_work()
}

impl Machine {
    /// Reads a tree, unless it is being read already.
    pub(super) fn look_at_tree(&mut self, id: InstanceId) {
        if let Entry::Vacant(entry) = self.trees.reading.entry(id) {
            entry.insert(BTreeSet::new());
            self.output(Output::LoadTree(id));
        }
    }

    /// A tree was read, up to the first member that is not idle.
    pub(super) fn tree_read(&mut self, id: InstanceId, rows: &[InstanceRow]) {
        let rested = self.trees.reading.remove(&id).unwrap_or_default();
        let moves = |row: &&InstanceRow| {
            let busy = self.mailboxes.get(row.id).is_some_and(|it| it.in_flight || it.has_work());
            busy || !rests_by_itself(row)
        };
        match rows.iter().find(moves).map(|row| row.id) {
            None => {
                let root = rows.iter().find(|row| row.id == id);
                if root.is_none_or(|row| row.phase.is_ended()) {
                    self.answer_all_waiters(id);
                } else {
                    self.answer_idle_waiters(id);
                }
                self.drop_idle(id);
            }
            // The member left its batch during the read, so its row may be older than that: read
            // again, because no later event would wake the waiting caller.
            Some(member) if rested.contains(&member) => self.look_at_tree(id),
            Some(member) => {
                self.trees.blocked_by.entry(member).or_default().insert(id);
            }
        }
    }

    /// An instance left its batch: trees that waited for it are read again.
    pub(super) fn tree_member_rests(&mut self, id: InstanceId) {
        for rested in self.trees.reading.values_mut() {
            rested.insert(id);
        }
        let waits =
            |mailbox: &Mailbox| mailbox.waiters.iter().any(|waiter| waiter.wait == Wait::Idle);
        for root in self.trees.blocked_by.remove(&id).unwrap_or_default() {
            if self.mailboxes.get(root).is_some_and(waits) {
                self.look_at_tree(root);
            }
        }
    }
}
