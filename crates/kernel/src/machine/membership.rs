//! Several machines on one store: partitions, notices, and instances that others hold.
//!
//! ```text
//!   heartbeat ─► Membership ─► partition changed? ─► Recover ─► Adopted: what others left
//!                      └─► look again: timers, waiting claims, waiting callers
//!   commit ─► Notify: timers of other partitions, ready tasks, callers elsewhere
//! ```
//!
//! Whoever writes an event for an instance also turns it. A node looks after the timers of its
//! partition, and when a node comes or goes every node recovers its new partition. That may be
//! work which a living node is doing: locks and fences prevent that anything is done twice.

use std::collections::BTreeSet;

use meantime_core::{DefinitionId, InstanceId, Timestamp};

use super::engine::Machine;
use super::io::{Output, Ticket};
use super::mailbox::Mailbox;
use super::ready::Class;
use super::timer_queue::WINDOW_MS;
use crate::command::{Error, StartCommand, Wait};
use crate::store::{
    DefinitionRow, Membership, NodeIndex, Notice, Partition, Recovered, TimerKey, To,
};

/// The first and the longest wait for an instance that another node holds, in milliseconds.
const LOCK_WAIT_MS: (i64, i64) = (4, 256);

/// Who shares the store, and what this node may do.
#[derive(Debug)]
pub(super) struct Cluster {
    membership: Membership,
    /// Until when the node's lease is surely its own, in real time; none is for ever.
    lease_until: Option<Timestamp>,
    /// How often it has asked for its partition and not been answered.
    recovers: u32,
    /// What other nodes are to be told.
    notices: Vec<(To, Notice)>,
    /// Instances that another node held, until when they are left alone.
    locked: BTreeSet<(Timestamp, InstanceId)>,
    /// Starts whose definition another node may have deployed.
    unresolved: Vec<(Ticket, StartCommand, Wait)>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            membership: Membership::alone(),
            lease_until: None,
            recovers: 0,
            notices: Vec::new(),
            locked: BTreeSet::new(),
            unresolved: Vec::new(),
        }
    }
}

impl Cluster {
    /// The lease under which turns are computed; turns of another one are not committed.
    pub(super) fn lease_term(&self) -> Option<u64> {
        self.membership.lease_term
    }

    pub(super) fn node_index(&self) -> NodeIndex {
        self.membership.node_index
    }

    pub(super) fn partition(&self) -> Partition {
        self.membership.partition()
    }

    /// A heartbeat was answered. Says whether the node got another lease or another partition.
    fn renew(&mut self, membership: Membership, until: Option<Timestamp>) -> bool {
        self.lease_until = until;
        let before = (self.lease_term(), self.partition());
        self.membership = membership;
        before != (self.lease_term(), self.partition())
    }

    /// Whether the node may act: it has a lease, and it knows which numbers the holder before it
    /// has used up.
    fn has_lease(&self, now: Timestamp) -> bool {
        self.recovers == 0 && self.lease_until.is_none_or(|until| now < until)
    }

    /// Something for all other nodes, told once.
    fn tell_others(&mut self, notice: Notice) {
        let told = (To::Others, notice);
        if !self.notices.contains(&told) {
            self.notices.push(told);
        }
    }

    /// Whether a caller waits for a definition that another node may have deployed.
    pub(super) fn has_unresolved(&self) -> bool {
        !self.unresolved.is_empty()
    }

    pub(super) fn take_unresolved(&mut self) -> Vec<(Ticket, StartCommand, Wait)> {
        std::mem::take(&mut self.unresolved)
    }
}

impl Machine {
    /// Who shares the store, from a heartbeat.
    pub(super) fn membership_changed(&mut self, membership: Membership, until: Option<Timestamp>) {
        if !self.config.shared_store {
            return;
        }
        let is_other = self.cluster.renew(membership, until);
        self.ids.use_node_index(self.cluster.node_index());
        if is_other {
            self.timers.partition_changed(self.cluster.partition());
            self.recover_partition();
        } else {
            self.timers.look_again();
        }
        self.claims.wake_all();
        self.look_at_awaited();
    }

    /// Asks for what lies in the node's partition, and for the numbers that are used up.
    fn recover_partition(&mut self) {
        self.cluster.recovers += 1;
        self.output(Output::Recover(self.cluster.partition()));
    }

    /// Whether the node may act ([`Cluster::has_lease`]).
    pub(super) fn has_lease(&self) -> bool {
        self.cluster.has_lease(self.clock)
    }

    /// What lies in the node's partition, after a node came or went.
    pub(super) fn partition_recovered(&mut self, recovered: Recovered) {
        self.ids.skip_to(recovered.seq);
        self.cluster.recovers = self.cluster.recovers.saturating_sub(1);
        match (&mut self.paused, recovered.paused) {
            (Some(paused), true) => *paused = recovered,
            (_, true) => {}
            (_, false) => {
                self.paused = None;
                self.go_on(recovered);
            }
        }
    }

    /// What other nodes have told.
    pub(super) fn receive_notices(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            match notice {
                Notice::Armed(key, definition) => self.timers.arm(key, definition),
                Notice::Rested(id) => self.look_at_tree_of_waiter(id),
                Notice::TaskReady { queue, name } => {
                    self.claims.offer(&queue, name.as_deref());
                }
                Notice::Deployed => self.output(Output::LoadDefinitions),
                Notice::Resumed => self.recover_partition(),
            }
        }
    }

    /// Definitions as the store has them: other nodes deploy too.
    pub(super) fn definitions_read(&mut self, rows: Vec<DefinitionRow>) {
        for row in rows {
            self.definitions.add_version(&row.name, row.id, row.version, row.retired);
            if row.retired {
                self.definitions.retire(&row.name, row.version);
            }
        }
        for (ticket, start, wait) in self.cluster.take_unresolved() {
            match self.definitions.resolve(&start.definition, start.version) {
                Some(definition) => self.start_of(definition, ticket, start, wait),
                None => {
                    let (name, version) = (start.definition, start.version);
                    self.reply(Some(ticket), Err(Error::UnknownDefinition { name, version }));
                }
            }
        }
    }

    /// A start whose definition is not known here: another node may have deployed it just now.
    pub(super) fn resolve_later(&mut self, ticket: Ticket, start: StartCommand, wait: Wait) {
        if !self.cluster.has_unresolved() {
            self.output(Output::LoadDefinitions);
        }
        self.cluster.unresolved.push((ticket, start, wait));
    }

    /// A timer was armed: whoever looks after the instance must know.
    pub(super) fn armed(&mut self, key: TimerKey, definition: DefinitionId) {
        let owner = self.cluster.membership.node_of(key.id.0.instance);
        if !self.config.shared_store || owner == self.cluster.node_index() {
            self.timers.arm(key, definition);
        } else if !key.frozen && key.due_at < self.now.engine.saturating_add_millis(WINDOW_MS) {
            self.cluster.notices.push((To::Node(owner), Notice::Armed(key, definition)));
        }
    }

    /// An instance came to rest, and callers at these nodes wait for that.
    pub(super) fn rested(&mut self, id: InstanceId, nodes: &[u8]) {
        let here = self.cluster.node_index();
        for node_index in nodes.iter().copied().map(NodeIndex).filter(|other| *other != here) {
            self.cluster.notices.push((To::Node(node_index), Notice::Rested(id)));
        }
    }

    pub(super) fn notify_others(&mut self, notice: Notice) {
        if self.config.shared_store {
            self.cluster.tell_others(notice);
        }
    }

    /// Sends what has gathered, once for many commits.
    pub(super) fn send_notices(&mut self) {
        if self.config.shared_store {
            for (queue, name) in self.claims.take_unwanted() {
                self.notify_others(Notice::TaskReady { queue, name });
            }
        }
        if !self.cluster.notices.is_empty() {
            let notices = std::mem::take(&mut self.cluster.notices);
            self.output(Output::Notify(notices));
        }
    }

    /// Another node holds the instance: it is tried again a little later, and then later still.
    pub(super) fn wait_for_lock(&mut self, id: InstanceId) {
        let now = self.clock;
        let Some(mailbox) = self.mailboxes.get_mut(id) else { return };
        let (first, longest) = LOCK_WAIT_MS;
        let wait = first.saturating_mul(1 << mailbox.misses.min(16)).min(longest);
        mailbox.misses += 1;
        let until = now.saturating_add_millis(wait);
        mailbox.locked_until = Some(until);
        self.cluster.locked.insert((until, id));
        self.counters.locked += 1;
    }

    /// Instances that may be free again.
    pub(super) fn queue_unlocked(&mut self) {
        while let Some((until, id)) = self.cluster.locked.first().copied()
            && self.has_passed(until, LOCK_WAIT_MS.1)
        {
            self.cluster.locked.pop_first();
            if let Some(mailbox) = self.mailboxes.get_mut(id) {
                mailbox.locked_until = None;
            }
            self.mailboxes.wake(id, Class::Events);
        }
    }

    /// When the next instance may be free again.
    pub(super) fn next_unlocked(&self) -> Option<Timestamp> {
        self.cluster.locked.first().map(|(until, _)| *until)
    }

    /// Callers wait for instances that another node may have brought to rest, unnoticed.
    fn look_at_awaited(&mut self) {
        let waits = |mailbox: &Mailbox| {
            !mailbox.waiters.is_empty() && !mailbox.in_flight && !mailbox.has_work()
        };
        for id in self.mailboxes.find(waits) {
            self.look_at_tree(id);
        }
    }

    fn look_at_tree_of_waiter(&mut self, id: InstanceId) {
        let waits = self.mailboxes.get(id).is_some_and(|mailbox| !mailbox.waiters.is_empty());
        if waits {
            self.look_at_tree(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_acts_while_it_has_a_lease_and_knows_its_partition() {
        let now = Timestamp::default();
        let mut cluster = Cluster::default();
        assert!(cluster.has_lease(now), "alone it needs none");
        assert!(!cluster.renew(Membership::alone(), Some(now)), "nothing has changed");
        assert!(!cluster.has_lease(now), "it has run out");
        cluster.renew(Membership::alone(), Some(now.saturating_add_millis(1)));
        assert!(cluster.has_lease(now));
        cluster.recovers = 1;
        assert!(!cluster.has_lease(now), "it does not know what lies in its partition");
    }

    #[test]
    fn other_nodes_are_told_once() {
        let mut cluster = Cluster::default();
        cluster.tell_others(Notice::Deployed);
        cluster.tell_others(Notice::Deployed);
        assert_eq!(cluster.notices.len(), 1);
    }
}
