//! Several machines on one store: partitions, notices, and instances that other nodes have locked.
//!
//! ```text
//!   heartbeat ─► Membership ─► partition changed? ─► Recover ─► Adopted: work that others left
//!                      └─► read again: timers, waiting claims, waiting callers
//!   commit ─► Notify: timers of other partitions, ready tasks, callers on other nodes
//! ```
//!
//! The node that writes an event for an instance also turns it. A node fires the timers of its
//! partition, and when a node joins or leaves, every node recovers its new partition. Another live
//! node may be working on some of that: locks and fences ensure that nothing is done twice.

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

/// The first and the longest wait for an instance that another node has locked, in milliseconds.
const LOCK_WAIT_MS: (i64, i64) = (4, 256);

/// The membership of the cluster, and the lease of this node.
#[derive(Debug)]
pub(super) struct Cluster {
    membership: Membership,
    /// Until when the node may rely on its lease, in real time; `None` if it needs no lease.
    lease_until: Option<Timestamp>,
    /// Number of `Recover` requests without an answer.
    recovers: u32,
    /// Notices to send to other nodes.
    notices: Vec<(To, Notice)>,
    /// Instances that another node had locked, with the time until which they are not tried.
    locked: BTreeSet<(Timestamp, InstanceId)>,
    /// Starts whose definition is unknown here and may have been deployed by another node.
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
    /// The current lease term. The store rejects plans that were computed in another term.
    pub(super) fn lease_term(&self) -> Option<u64> {
        self.membership.lease_term
    }

    pub(super) fn node_index(&self) -> NodeIndex {
        self.membership.node_index
    }

    pub(super) fn partition(&self) -> Partition {
        self.membership.partition()
    }

    /// Stores the result of a heartbeat. Returns whether the lease term or the partition changed.
    fn renew(&mut self, membership: Membership, until: Option<Timestamp>) -> bool {
        self.lease_until = until;
        let before = (self.lease_term(), self.partition());
        self.membership = membership;
        before != (self.lease_term(), self.partition())
    }

    /// Whether the node may act: its lease is valid, and no `Recover` is open. A new lease term may
    /// give the node an index that another node used before: until the store has answered, this
    /// node does not know which sequence numbers are used up and could assign one twice.
    fn has_lease(&self, now: Timestamp) -> bool {
        self.recovers == 0 && self.lease_until.is_none_or(|until| now < until)
    }

    /// Queues a notice for all other nodes, unless the same one is queued already.
    fn notify_others(&mut self, notice: Notice) {
        let addressed = (To::Others, notice);
        if !self.notices.contains(&addressed) {
            self.notices.push(addressed);
        }
    }

    /// Whether a start waits for the definitions of other nodes.
    pub(super) fn has_unresolved(&self) -> bool {
        !self.unresolved.is_empty()
    }

    pub(super) fn take_unresolved(&mut self) -> Vec<(Ticket, StartCommand, Wait)> {
        std::mem::take(&mut self.unresolved)
    }
}

impl Machine {
    /// Handles the result of a heartbeat.
    pub(super) fn membership_changed(&mut self, membership: Membership, until: Option<Timestamp>) {
        if !self.config.shared_store {
            return;
        }
        let is_other = self.cluster.renew(membership, until);
        // Numbers given from here on carry the new index, so that no other node gives the same
        // ones.
        self.ids.use_node_index(self.cluster.node_index());
        if is_other {
            // A node joined or left, or this node got a new lease term. No other node reads the
            // work of the new partition, so it is recovered as after a restart.
            self.timers.partition_changed(self.cluster.partition());
            self.recover_partition();
        } else {
            // A notice may have been lost: timers that another node has armed are found by reading
            // the head of the index again, once per heartbeat.
            self.timers.look_again();
        }
        self.claims.wake_all();
        self.look_at_awaited();
    }

    /// Requests the unfinished work of the partition and the largest sequence number in use.
    fn recover_partition(&mut self) {
        self.cluster.recovers += 1;
        self.output(Output::Recover(self.cluster.partition()));
    }

    /// Whether the node may act ([`Cluster::has_lease`]).
    pub(super) fn has_lease(&self) -> bool {
        self.cluster.has_lease(self.clock)
    }

    /// The unfinished work of the partition, after the membership changed.
    pub(super) fn partition_recovered(&mut self, recovered: Recovered) {
        self.ids.skip_to(recovered.seq);
        self.cluster.recovers = self.cluster.recovers.saturating_sub(1);
        self.work_recovered(recovered);
    }

    /// Handles notices of other nodes.
    pub(super) fn receive_notices(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            match notice {
                Notice::Armed(key, definition) => self.timers.arm(key, definition),
                Notice::Rested(id) => self.look_at_tree_of_waiter(id),
                Notice::TaskReady { queue, name } => {
                    self.claims.offer(&queue, name.as_deref());
                }
                Notice::Deployed => self.output(Output::LoadDefinitions),
                // The store was resumed by another node: recovering the partition ends the pause
                // here too.
                Notice::Resumed => self.recover_partition(),
            }
        }
    }

    /// The definitions in the store, which other nodes may have deployed.
    pub(super) fn definitions_read(&mut self, rows: Vec<DefinitionRow>) {
        for row in rows {
            self.definitions.add_version(&row.name, row.id, row.version, row.retired);
            self.definitions.set_paused(&row.name, row.paused.is_some());
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

    /// Keeps a start whose definition is unknown here: another node may have deployed it, and the
    /// notice may not have arrived. The start is rejected only if the store does not know it
    /// either.
    pub(super) fn resolve_later(&mut self, ticket: Ticket, start: StartCommand, wait: Wait) {
        if !self.cluster.has_unresolved() {
            self.output(Output::LoadDefinitions);
        }
        self.cluster.unresolved.push((ticket, start, wait));
    }

    /// A timer was armed: the node that holds the partition of the instance adds it to its queue.
    pub(super) fn armed(&mut self, key: TimerKey, definition: DefinitionId) {
        let owner = self.cluster.membership.node_of(key.id.0.instance);
        if !self.config.shared_store || owner == self.cluster.node_index() {
            self.timers.arm(key, definition);
        } else if !key.frozen && key.due_at < self.now.engine.saturating_add_millis(WINDOW_MS) {
            self.cluster.notices.push((To::Node(owner), Notice::Armed(key, definition)));
        }
    }

    /// An instance became idle or ended, and callers at these nodes wait for it.
    pub(super) fn rested(&mut self, id: InstanceId, nodes: &[u8]) {
        let here = self.cluster.node_index();
        for node_index in nodes.iter().copied().map(NodeIndex).filter(|other| *other != here) {
            self.cluster.notices.push((To::Node(node_index), Notice::Rested(id)));
        }
    }

    pub(super) fn notify_others(&mut self, notice: Notice) {
        if self.config.shared_store {
            self.cluster.notify_others(notice);
        }
    }

    /// Sends the collected notices; one output for many commits.
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

    /// Another node has locked the instance: it is tried again after a delay that doubles each
    /// time.
    pub(super) fn wait_for_lock(&mut self, id: InstanceId) {
        let now = self.clock;
        let mailbox = self.mailboxes.of_batch(id);
        let (first, longest) = LOCK_WAIT_MS;
        let wait = first.saturating_mul(1 << mailbox.misses.min(16)).min(longest);
        mailbox.misses += 1;
        let until = now.saturating_add_millis(wait);
        mailbox.locked_until = Some(until);
        self.cluster.locked.insert((until, id));
        self.counters.locked += 1;
    }

    /// Wakes instances whose lock wait is over.
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

    /// The next time at which a lock wait is over.
    pub(super) fn next_unlocked(&self) -> Option<Timestamp> {
        self.cluster.locked.first().map(|(until, _)| *until)
    }

    /// Looks up instances that callers wait for: another node may have made them idle, and its
    /// notice may have been lost.
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
        cluster.notify_others(Notice::Deployed);
        cluster.notify_others(Notice::Deployed);
        assert_eq!(cluster.notices.len(), 1);
    }
}
