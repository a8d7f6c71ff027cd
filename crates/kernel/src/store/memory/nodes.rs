//! Who uses the store: seats, last batches, and who hears notices.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use meantime_core::Timestamp;

use crate::store::{Company, Error, Listener, Notice, Seat, To};

/// A node at its seat.
#[derive(Debug, Clone, Copy)]
struct Sitting {
    number: u64,
    seat: Seat,
    until: Timestamp,
}

/// The nodes, by number; none is the only one.
#[derive(Default, Clone)]
pub(super) struct Nodes {
    batches: BTreeMap<Option<u64>, u64>,
    seats: BTreeMap<u64, Sitting>,
    sittings: u64,
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
    pub(super) fn check(&self, node: Option<u64>, sitting: Option<u64>) -> Result<(), Error> {
        let Some(node) = node else { return Ok(()) };
        let now = self.seats.get(&node).map(|it| it.number);
        if now.is_none() || sitting.is_some_and(|sitting| now != Some(sitting)) {
            return Err(Error::Unavailable("the node has lost its seat".to_owned()));
        }
        Ok(())
    }

    pub(super) fn beat(&mut self, node: u64, real: Timestamp) -> Result<Company, Error> {
        self.seats.retain(|other, it| *other == node || !Seat::is_free(it.until, real));
        let until = real.saturating_add_millis(Seat::KEPT_MS);
        let sitting = match self.seats.get(&node) {
            Some(sitting) => Sitting { until, ..*sitting },
            None => self.sit_down(until)?,
        };
        self.seats.insert(node, sitting);
        let mut seats: Vec<Seat> = self.seats.values().map(|it| it.seat).collect();
        seats.sort();
        let (seat, sitting, lasts_ms) = (sitting.seat, Some(sitting.number), Some(Seat::LASTS_MS));
        Ok(Company { seat, sitting, seats, lasts_ms, time: None, recheck_ms: None })
    }

    fn sit_down(&mut self, until: Timestamp) -> Result<Sitting, Error> {
        let taken: BTreeSet<Seat> = self.seats.values().map(|it| it.seat).collect();
        let free = (0..Seat::COUNT).map(Seat).find(|seat| !taken.contains(seat));
        let seat = free.ok_or_else(|| Error::Unavailable("all seats are taken".to_owned()))?;
        self.sittings += 1;
        Ok(Sitting { number: self.sittings, seat, until })
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
            for (node, Sitting { seat, .. }) in &self.seats {
                if Some(*node) != from && (to == To::Others || to == To::Seat(*seat)) {
                    calls.entry(*node).or_default().push(notice.clone());
                }
            }
        }
        let listener = |node: u64| self.listeners.get(&node).cloned();
        calls.into_iter().filter_map(|(node, it)| Some((listener(node)?, it))).collect()
    }
}
