//! Callers that wait until an instance and all its descendants are idle.
//!
//! The tree is read up to the first member that is not idle, and read again only when that member
//! has become idle. So a parent of ten thousand children is not read ten thousand times.
//!
//! [`Waiters`] also knows the callers that wait for several instances at once: whose start began
//! children, and who is answered when the first turns of all of them are done.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use meantime_core::InstanceId;

use super::engine::Machine;
use super::io::{Output, Ticket};
use super::mailbox::Mailbox;
use crate::command::{Reply, Wait};
use crate::store::{InstanceRow, Phase};

/// Callers that wait for more than one instance, and the trees that some of them wait for.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    /// How many instances a caller still waits for, and its answer.
    groups: BTreeMap<Ticket, (usize, Reply)>,
    /// By the member that is not idle: the roots to read again when it becomes idle.
    blocked_by: BTreeMap<InstanceId, BTreeSet<InstanceId>>,
    /// Trees being read, each with the members that left their batch since the read began.
    reading: BTreeMap<InstanceId, BTreeSet<InstanceId>>,
}

impl Waiters {
    /// A caller is answered when so many instances are idle.
    pub(super) fn wait_for_group(&mut self, ticket: Ticket, instances: usize, reply: Reply) {
        self.groups.insert(ticket, (instances, reply));
    }

    /// One of the instances that a caller waits for is idle. The answer, if it was the last.
    pub(super) fn one_is_idle(&mut self, ticket: Ticket) -> Option<Reply> {
        let (left, _) = self.groups.get_mut(&ticket)?;
        *left = left.saturating_sub(1);
        if *left > 0 { None } else { self.abandon(ticket) }
    }

    /// A caller does not wait any longer; its answer as it stands.
    pub(super) fn abandon(&mut self, ticket: Ticket) -> Option<Reply> {
        self.groups.remove(&ticket).map(|(_, reply)| reply)
    }

    /// Whether a tree must be read: not if it is being read already.
    fn begin_read(&mut self, root: InstanceId) -> bool {
        match self.reading.entry(root) {
            Entry::Vacant(entry) => {
                entry.insert(BTreeSet::new());
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// The read of a tree is over; the members that left their batch since it began.
    fn end_read(&mut self, root: InstanceId) -> BTreeSet<InstanceId> {
        self.reading.remove(&root).unwrap_or_default()
    }

    /// A tree is not idle because of one member.
    fn block(&mut self, root: InstanceId, member: InstanceId) {
        self.blocked_by.entry(member).or_default().insert(root);
    }

    /// An instance left its batch; the trees that are to be read again.
    fn member_rests(&mut self, member: InstanceId) -> BTreeSet<InstanceId> {
        // Reads in flight may have seen an older row of it.
        for rested in self.reading.values_mut() {
            rested.insert(member);
        }
        self.blocked_by.remove(&member).unwrap_or_default()
    }
}

/// Whether an instance itself waits only for time, signals, messages, steps or people.
pub fn is_idle_by_itself(row: &InstanceRow) -> bool {
    let waits = matches!(row.phase, Phase::Running | Phase::Closing) || row.meta.damaged.is_some();
    let stands = row.phase.is_ended() || row.meta.held.is_some() || waits;
    row.meta.suspended.is_some() || stands && row.open.has_no_work()
}

impl Machine {
    /// Reads a tree, unless it is being read already.
    pub(super) fn look_at_tree(&mut self, id: InstanceId) {
        if self.waiters.begin_read(id) {
            self.output(Output::LoadTree(id));
        }
    }

    /// A tree was read, up to the first member that is not idle.
    pub(super) fn tree_read(&mut self, id: InstanceId, rows: &[InstanceRow]) {
        let rested = self.waiters.end_read(id);
        let moves = |row: &&InstanceRow| {
            let busy = self.mailboxes.get(row.id).is_some_and(|it| it.in_flight || it.has_work());
            busy || !is_idle_by_itself(row)
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
            Some(member) => self.waiters.block(id, member),
        }
    }

    /// An instance left its batch: trees that waited for it are read again.
    pub(super) fn tree_member_rests(&mut self, id: InstanceId) {
        let waits =
            |mailbox: &Mailbox| mailbox.waiters.iter().any(|waiter| waiter.wait == Wait::Idle);
        for root in self.waiters.member_rests(id) {
            if self.mailboxes.get(root).is_some_and(waits) {
                self.look_at_tree(root);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_id::id;
    use super::*;

    #[test]
    fn a_caller_is_answered_when_the_last_of_several_instances_is_idle() {
        let mut waiters = Waiters::default();
        waiters.wait_for_group(Ticket(1), 2, Reply::Done);
        assert!(waiters.one_is_idle(Ticket(1)).is_none());
        assert!(waiters.one_is_idle(Ticket(1)).is_some());
        assert!(waiters.one_is_idle(Ticket(1)).is_none(), "it is answered once");
        waiters.wait_for_group(Ticket(2), 2, Reply::Done);
        assert!(waiters.abandon(Ticket(2)).is_some());
        assert!(waiters.one_is_idle(Ticket(2)).is_none());
    }

    #[test]
    fn a_tree_is_read_once_at_a_time_and_again_when_its_busy_member_rests() {
        let mut waiters = Waiters::default();
        assert!(waiters.begin_read(id(1)));
        assert!(!waiters.begin_read(id(1)), "it is being read");
        assert!(waiters.member_rests(id(2)).is_empty());
        assert!(waiters.end_read(id(1)).contains(&id(2)), "its row may be older than that");
        waiters.block(id(1), id(3));
        assert_eq!(waiters.member_rests(id(3)), BTreeSet::from([id(1)]));
        assert!(waiters.member_rests(id(3)).is_empty());
    }
}
