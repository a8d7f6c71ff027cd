//! Several nodes on one store: their indexes, their partitions, and the notices between them.
//!
//! Safety does not depend on anything here: fences and locks provide it. Partitions keep nodes from
//! doing the same work twice, and notices make reactions fast; both may be late or lost.

use std::sync::Arc;

use meantime_core::{DefinitionId, InstanceId, Timestamp};
use minicbor::{Decode, Encode};

use super::TimerKey;

/// The index of a node among those that share a store. It is leased when the node joins, and free
/// again when the lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct NodeIndex(pub u8);

impl NodeIndex {
    /// How many nodes can share a store.
    pub const COUNT: u8 = 64;

    /// How long a lease is valid after the last heartbeat, in milliseconds.
    pub const LEASE_MS: i64 = 15_000;

    /// How long the node itself relies on its lease: it stops before others may take its index.
    pub const TRUSTED_MS: i64 = 12_000;

    /// Whether a lease with this expiry is free. An expiry further away than a lease lasts means
    /// that the clock was set back; then the lease counts as free, because waiting for the clock to
    /// catch up could take years (P6).
    pub fn is_free(until: Timestamp, now: Timestamp) -> bool {
        let left = until.saturating_since(now);
        left <= 0 || left > Self::LEASE_MS
    }
}

/// The instances that a node is responsible for: it fires their timers and adopts the work of dead
/// nodes. Any node may turn any instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// The index of the partition, from 0.
    pub index: u8,
    /// The number of partitions: one for each node.
    pub count: u8,
}

impl Partition {
    /// All instances: there is no other node.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// Whether an instance belongs to it, by the lowest byte of the random half of its id.
    pub fn holds(self, id: InstanceId) -> bool {
        self.index == Self::index_of(id, self.count)
    }

    /// The index of the partition that an instance belongs to.
    pub fn index_of(id: InstanceId, count: u8) -> u8 {
        let [lowest, ..] = id.random().to_le_bytes();
        lowest % count.max(1)
    }
}

/// The nodes that share the store, as one node sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The node's own index.
    pub node_index: NodeIndex,
    /// A number for one tenure of a lease, never used again. A node that lost its lease without
    /// noticing gets another term, even if it gets the same index again.
    pub lease_term: Option<u64>,
    /// The indexes of all nodes, its own included, in order.
    pub nodes: Vec<NodeIndex>,
    /// How long the node may rely on its lease, from the moment of the request; `None` if it needs
    /// none.
    pub lasts_ms: Option<i64>,
    /// The time of the store, if the nodes use it.
    pub time: Option<Timestamp>,
    /// When to send the next heartbeat, in milliseconds, because another node may be dead by then;
    /// `None` means the usual interval.
    pub recheck_ms: Option<i64>,
}

impl Membership {
    /// A node that does not share its store.
    pub fn alone() -> Self {
        let (node_index, nodes) = (NodeIndex(0), vec![NodeIndex(0)]);
        Self { node_index, lease_term: None, nodes, lasts_ms: None, time: None, recheck_ms: None }
    }

    /// The node's partition.
    pub fn partition(&self) -> Partition {
        let part = self
            .nodes
            .iter()
            .position(|node_index| *node_index == self.node_index)
            .unwrap_or_default();
        let of = self.nodes.len().clamp(1, usize::from(NodeIndex::COUNT));
        let narrow = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        Partition { index: narrow(part), count: narrow(of) }
    }

    /// The node that is responsible for an instance.
    pub fn node_of(&self, id: InstanceId) -> NodeIndex {
        let part = usize::from(Partition::index_of(id, self.partition().count));
        self.nodes.get(part).copied().unwrap_or(self.node_index)
    }
}

/// A notice that a node sends to others after a commit. A lost notice delays something, and never
/// makes it wrong.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Notice {
    /// A timer of an instance of this definition was armed, and is due soon.
    #[n(0)]
    Armed(#[n(0)] TimerKey, #[n(1)] DefinitionId),
    /// An instance became idle or ended, and a caller waits for it at another node.
    #[n(1)]
    Rested(#[n(0)] InstanceId),
    /// A task became ready for a worker.
    #[n(2)]
    TaskReady {
        /// Its queue.
        #[n(0)]
        queue: String,
        /// Its type; `None` if it is not known.
        #[n(1)]
        name: Option<String>,
    },
    /// Definitions were deployed or retired.
    #[n(3)]
    Deployed,
    /// An operator resumed a restored store.
    #[n(4)]
    Resumed,
}

/// The receivers of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// One node.
    Node(NodeIndex),
    /// All other nodes.
    Others,
}

/// Receives notices of other nodes.
pub type Listener = Arc<dyn Fn(Vec<Notice>) + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instance_belongs_to_exactly_one_node() {
        let nodes = vec![NodeIndex(1), NodeIndex(4), NodeIndex(9)];
        let membership =
            |node_index| Membership { node_index, nodes: nodes.clone(), ..Membership::alone() };
        for number in 0..1_000_u64 {
            let id = InstanceId::new(number, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let holders =
                nodes.iter().filter(|node_index| membership(**node_index).partition().holds(id));
            let holders: Vec<_> = holders.copied().collect();
            assert_eq!(holders, [membership(NodeIndex(1)).node_of(id)]);
        }
    }

    #[test]
    fn a_node_alone_has_everything() {
        assert_eq!(Membership::alone().partition(), Partition::ALL);
        assert!(Partition::ALL.holds(InstanceId::new(7, 9)));
    }
}
