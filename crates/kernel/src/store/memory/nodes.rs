//! Who uses the store: seats, last batches, and who hears notices.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use meantime_core::Timestamp;

use crate::store::{Company, Error, Listener, Notice, Seat, To};

/// The nodes, by number; none is the only one.
#[derive(Default, Clone)]
pub(super) struct Nodes {
    batches: BTreeMap<Option<u64>, u64>,
    seats: BTreeMap<u64, (Seat, Timestamp)>,
    listeners: BTreeMap<u64, Listener>,
    added: u64,
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("seats", &self.seats).finish_non_exhaustive()
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

    /// A node that lost its seat may not write what it prepared there (I5): who sits there now may
    /// give the same numbers.
    pub(super) fn check(&self, node: Option<u64>, from: Option<Seat>) -> Result<(), Error> {
        let seat = self.seat_of(node);
        if node.is_some() && (seat.is_none() || from.is_some_and(|from| seat != Some(from))) {
            return Err(Error::Unavailable("the node has lost its seat".to_owned()));
        }
        Ok(())
    }

    /// Where a node sits.
    pub(super) fn seat_of(&self, node: Option<u64>) -> Option<Seat> {
        self.seats.get(&node?).map(|(seat, _)| *seat)
    }

    pub(super) fn beat(&mut self, node: u64, real: Timestamp) -> Result<Company, Error> {
        self.seats.retain(|other, (_, until)| *other == node || !Seat::is_free(*until, real));
        let taken: BTreeSet<Seat> = self.seats.values().map(|(seat, _)| *seat).collect();
        let free = || (0..Seat::COUNT).map(Seat).find(|seat| !taken.contains(seat));
        let seat = self.seats.get(&node).map(|(seat, _)| *seat).or_else(free);
        let seat = seat.ok_or_else(|| Error::Unavailable("all seats are taken".to_owned()))?;
        self.seats.insert(node, (seat, real.saturating_add_millis(Seat::KEPT_MS)));
        let mut seats: Vec<Seat> = self.seats.values().map(|(seat, _)| *seat).collect();
        seats.sort();
        Ok(Company { seat, seats, lasts_ms: Some(Seat::LASTS_MS), time: None })
    }

    pub(super) fn leave(&mut self, node: Option<u64>) {
        self.seats.retain(|other, _| Some(*other) != node);
        self.listeners.retain(|other, _| Some(*other) != node);
    }

    pub(super) fn listen(&mut self, node: Option<u64>, listener: Listener) {
        if let Some(node) = node {
            self.listeners.insert(node, listener);
        }
    }

    /// Who is to be called with what.
    pub(super) fn route(
        &self,
        from: Option<u64>,
        notices: Vec<(To, Notice)>,
    ) -> Vec<(Listener, Vec<Notice>)> {
        let mut calls: BTreeMap<u64, Vec<Notice>> = BTreeMap::new();
        for (to, notice) in notices {
            for (node, (seat, _)) in &self.seats {
                if Some(*node) != from && (to == To::Others || to == To::Seat(*seat)) {
                    calls.entry(*node).or_default().push(notice.clone());
                }
            }
        }
        let listener = |node: u64| self.listeners.get(&node).cloned();
        calls.into_iter().filter_map(|(node, it)| Some((listener(node)?, it))).collect()
    }
}
