//! Several nodes on one store: who they are, which part of the work is whose, and what they tell
//! each other.
//!
//! Nothing here is needed for safety: fences and locks see to that. Shares keep nodes from doing
//! the same work twice, and notices make things fast; both may be late or lost.

use std::sync::Arc;

use meantime_core::{DefinitionId, InstanceId, Timestamp};
use minicbor::{Decode, Encode};

use super::TimerKey;

/// The number of a node among those that share a store: leased when it joins, free again when the
/// lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct NodeIndex(pub u8);

impl NodeIndex {
    /// How many nodes can share a store.
    pub const COUNT: u8 = 64;

    /// How long a lease is kept after the last heartbeat, in milliseconds.
    pub const LEASE_MS: i64 = 15_000;

    /// How long its node relies on it: it stops before others may take it.
    pub const TRUSTED_MS: i64 = 12_000;

    /// Whether a lease that was kept until then is free. A time that is further away than it can be
    /// means that the clock went back, and nobody waits for it to return (P6).
    pub fn is_free(until: Timestamp, now: Timestamp) -> bool {
        let left = until.saturating_since(now);
        left <= 0 || left > Self::LEASE_MS
    }
}

/// The part of the instances that a node looks after: their timers, and what a dead node left.
/// Any node may turn any instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Which one, from 0.
    pub index: u8,
    /// How many there are: one for each node.
    pub count: u8,
}

impl Partition {
    /// All of it: nobody else is there.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// Whether an instance belongs to it: by the lowest byte of the random half of its id.
    pub fn holds(self, id: InstanceId) -> bool {
        self.index == Self::index_of(id, self.count)
    }

    /// The index of the partition that an instance belongs to.
    pub fn index_of(id: InstanceId, count: u8) -> u8 {
        let [lowest, ..] = id.random().to_le_bytes();
        lowest % count.max(1)
    }
}

/// Who shares the store at the moment, as one node sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The node's own index.
    pub node_index: NodeIndex,
    /// A number for the time from getting a lease to losing it, never given again. A node that
    /// lost its lease unnoticed finds another one, even if it gets the same index again.
    pub lease_term: Option<u64>,
    /// The indexes of all nodes, its own included, in order.
    pub nodes: Vec<NodeIndex>,
    /// How long the lease is surely its own, counted from when it asked; none is for ever.
    pub lasts_ms: Option<i64>,
    /// The store's own time, if the nodes go by it.
    pub time: Option<Timestamp>,
    /// How soon to give the next heartbeat, in milliseconds, because somebody may be gone by
    /// then; none is the usual time.
    pub recheck_ms: Option<i64>,
}

impl Membership {
    /// A node that shares its store with nobody.
    pub fn alone() -> Self {
        let (node_index, nodes) = (NodeIndex(0), vec![NodeIndex(0)]);
        Self { node_index, lease_term: None, nodes, lasts_ms: None, time: None, recheck_ms: None }
    }

    /// The node's share of the work.
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

    /// The node that looks after an instance.
    pub fn node_of(&self, id: InstanceId) -> NodeIndex {
        let part = usize::from(Partition::index_of(id, self.partition().count));
        self.nodes.get(part).copied().unwrap_or(self.node_index)
    }
}

/// What one node tells others after a commit. A lost notice makes something late, never wrong.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Notice {
    /// A timer of an instance of this definition was armed, and is due soon.
    #[n(0)]
    Armed(#[n(0)] TimerKey, #[n(1)] DefinitionId),
    /// An instance that somebody waits for has come to rest.
    #[n(1)]
    Rested(#[n(0)] InstanceId),
    /// A task became ready for a worker.
    #[n(2)]
    TaskReady {
        /// Its queue.
        #[n(0)]
        queue: String,
        /// Its type; none when it is not known.
        #[n(1)]
        name: Option<String>,
    },
    /// Definitions were deployed or retired.
    #[n(3)]
    Deployed,
    /// Somebody confirmed that a restored copy may act.
    #[n(4)]
    Resumed,
}

/// Whom a notice is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// One node.
    Node(NodeIndex),
    /// Everybody else.
    Others,
}

/// Hears notices of other nodes.
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
