//! The nodes that use the store: leases, last batches, receivers of notices.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use meantime_core::Timestamp;

use crate::store::{Error, Listener, Membership, NodeIndex, Notice, To};

/// The lease of a node.
#[derive(Debug, Clone, Copy)]
struct NodeLease {
    number: u64,
    node_index: NodeIndex,
    until: Timestamp,
}

/// The nodes by number; the single owner of a store has none (`None`).
#[derive(Default, Clone)]
pub(super) struct Nodes {
    batches: BTreeMap<Option<u64>, u64>,
    nodes: BTreeMap<u64, NodeLease>,
    lease_terms: u64,
    listeners: BTreeMap<u64, Listener>,
    added: u64,
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Nodes {
    pub(super) fn add(&mut self) -> u64 {
        self.added += 1;
        self.added
    }

    /// The number of the last batch that a node committed.
    pub(super) fn last_batch(&self, node: Option<u64>) -> u64 {
        self.batches.get(&node).copied().unwrap_or_default()
    }

    pub(super) fn committed(&mut self, node: Option<u64>, batch: u64) {
        let last = self.batches.entry(node).or_default();
        *last = batch.max(*last);
    }

    /// Rejects plans of a lease term that has ended (I5): the present holder of the index may have
    /// assigned the same numbers.
    pub(super) fn check(&self, node: Option<u64>, lease_term: Option<u64>) -> Result<(), Error> {
        let Some(node) = node else { return Ok(()) };
        let now = self.nodes.get(&node).map(|it| it.number);
        if now.is_none() || lease_term.is_some_and(|lease_term| now != Some(lease_term)) {
            return Err(Error::Unavailable("the node has lost its node_index".to_owned()));
        }
        Ok(())
    }

    pub(super) fn renew_lease(&mut self, node: u64, real: Timestamp) -> Result<Membership, Error> {
        self.nodes.retain(|other, it| *other == node || !NodeIndex::is_free(it.until, real));
        let until = real.saturating_add_millis(NodeIndex::LEASE_MS);
        let lease_term = match self.nodes.get(&node) {
            Some(lease_term) => NodeLease { until, ..*lease_term },
            None => self.acquire_lease(until)?,
        };
        self.nodes.insert(node, lease_term);
        let mut nodes: Vec<NodeIndex> = self.nodes.values().map(|it| it.node_index).collect();
        nodes.sort();
        let (node_index, lease_term, lasts_ms) =
            (lease_term.node_index, Some(lease_term.number), Some(NodeIndex::TRUSTED_MS));
        Ok(Membership { node_index, lease_term, nodes, lasts_ms, time: None, recheck_ms: None })
    }

    fn acquire_lease(&mut self, until: Timestamp) -> Result<NodeLease, Error> {
        let taken: BTreeSet<NodeIndex> = self.nodes.values().map(|it| it.node_index).collect();
        let free =
            (0..NodeIndex::COUNT).map(NodeIndex).find(|node_index| !taken.contains(node_index));
        let node_index =
            free.ok_or_else(|| Error::Unavailable("all node indexes are in use".to_owned()))?;
        self.lease_terms += 1;
        Ok(NodeLease { number: self.lease_terms, node_index, until })
    }

    pub(super) fn leave(&mut self, node: Option<u64>) {
        self.nodes.retain(|other, _| Some(*other) != node);
        self.listeners.retain(|other, _| Some(*other) != node);
    }

    pub(super) fn listen(&mut self, node: Option<u64>, listener: Listener) {
        if let Some(node) = node {
            self.listeners.insert(node, listener);
        }
    }

    /// The receivers of notices.
    pub(super) fn route(
        &self,
        from: Option<u64>,
        notices: Vec<(To, Notice)>,
    ) -> Vec<(Listener, Vec<Notice>)> {
        let mut calls: BTreeMap<u64, Vec<Notice>> = BTreeMap::new();
        for (to, notice) in notices {
            for (node, NodeLease { node_index, .. }) in &self.nodes {
                if Some(*node) != from && (to == To::Others || to == To::Node(*node_index)) {
                    calls.entry(*node).or_default().push(notice.clone());
                }
            }
        }
        let listener = |node: u64| self.listeners.get(&node).cloned();
        calls.into_iter().filter_map(|(node, it)| Some((listener(node)?, it))).collect()
    }
}
