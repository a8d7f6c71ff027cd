//! The head of the due-time index, in memory.
//!
//! The rows in the store are the truth; this is a cache of the earliest of them (I3). It knows
//! every timer up to its *horizon* and none after it, so it is bounded however many timers are
//! armed. It reads the store only when all timers that it knows have been used: no polling (I12).
//!
//! On a shared store, other nodes arm timers too. Then it knows the timers of its partition for the
//! next seconds only and reads them again at every heartbeat. A timer that another node arms within
//! that window is announced by a notice.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{DefinitionId, Timestamp};

use crate::fault_injection::{InjectedBug, is_injected};
use crate::store::{Partition, TimerKey};

/// How many timers one read returns.
pub(super) const READ: usize = 8_192;

/// How far ahead a node on a shared store reads, in milliseconds: several heartbeats.
pub(super) const WINDOW_MS: i64 = 20_000;

/// A read to perform: all timers after a key, at most [`READ`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) after: Option<TimerKey>,
    pub(super) before: Option<Timestamp>,
}

/// Earliest timers first.
#[derive(Debug)]
pub(super) struct TimerQueue {
    known: BTreeSet<TimerKey>,
    /// Timers whose definition is being loaded.
    held: BTreeMap<DefinitionId, BTreeSet<TimerKey>>,
    /// Up to where all timers are known.
    horizon: Horizon,
    /// The read in progress, with the changes that commits made since it began.
    during: Option<During>,
    /// Whether other nodes arm timers in the same store.
    shared: bool,
    /// Whether the next read starts from the beginning.
    look_again: bool,
}

#[derive(Debug)]
struct During {
    before: Option<Timestamp>,
    changes: Vec<(TimerKey, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Horizon {
    Nothing,
    Until(TimerKey),
    /// Every timer that is due before an instant is known.
    Before(Timestamp),
    Everything,
}

impl TimerQueue {
    /// A queue that knows nothing yet.
    pub(super) fn new(shared: bool) -> Self {
        let (known, horizon) = (BTreeSet::new(), Horizon::Nothing);
        let held = BTreeMap::new();
        Self { known, held, horizon, during: None, shared, look_again: false }
    }

    /// Requests a new read from the beginning, because other nodes may have armed timers.
    pub(super) fn look_again(&mut self) {
        self.look_again = true;
    }

    /// The node is now responsible for another partition: timers of other partitions are dropped,
    /// and everything is read again.
    pub(super) fn partition_changed(&mut self, partition: Partition) {
        self.known.retain(|key| partition.holds(key.id.0.instance));
        self.held.clear();
        self.horizon = Horizon::Nothing;
        self.look_again = true;
    }

    /// A timer was armed by a commit. A timer after the horizon is not kept: the read that moves
    /// the horizon finds its row.
    pub(super) fn arm(&mut self, key: TimerKey) {
        if key.frozen {
            return;
        }
        self.cache_update(key, true);
        if self.covers(key) {
            self.known.insert(key);
            self.shrink();
        }
    }

    /// A timer was removed by a commit.
    pub(super) fn remove(&mut self, key: TimerKey) {
        self.cache_update(key, false);
        self.forget(key);
    }

    fn forget(&mut self, key: TimerKey) {
        self.known.remove(&key);
        for held in self.held.values_mut() {
            held.remove(&key);
        }
        self.held.retain(|_, held| !held.is_empty());
    }

    /// Sets a timer aside until its definition is loaded. Later timers of the same definition are
    /// held too, so that the timers of a definition fire in due order (T8).
    pub(super) fn hold(&mut self, key: TimerKey, definition: DefinitionId) {
        if self.known.remove(&key) {
            self.held.entry(definition).or_default().insert(key);
        }
    }

    /// A definition is loaded, or cannot be loaded.
    pub(super) fn release(&mut self, definition: DefinitionId) {
        self.known.extend(self.held.remove(&definition).unwrap_or_default());
    }

    /// Whether timers wait for their definition.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Removes and returns the next due timer.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<TimerKey> {
        let now =
            if is_injected(InjectedBug::FireEarly) { now.saturating_add_millis(500) } else { now };
        self.known.first().filter(|key| key.due_at <= now)?;
        self.known.pop_first()
    }

    /// When the next known timer is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.known.first().map(|key| key.due_at)
    }

    /// The read to perform, if one is needed. Marks it as in progress.
    pub(super) fn wants_read(&mut self, now: Timestamp) -> Option<Read> {
        if self.during.is_some() {
            return None;
        }
        let after = match self.horizon {
            _ if self.look_again => None,
            _ if !self.known.is_empty() || !self.held.is_empty() => return None,
            Horizon::Everything => return None,
            Horizon::Before(instant) if now < instant => return None,
            Horizon::Nothing | Horizon::Before(_) => None,
            Horizon::Until(key) => Some(key),
        };
        self.look_again = false;
        let before = self.shared.then(|| now.saturating_add_millis(WINDOW_MS));
        self.during = Some(During { before, changes: Vec::new() });
        Some(Read { after, before })
    }

    /// Whether a read is in progress.
    pub(super) fn is_being_read(&self) -> bool {
        self.during.is_some()
    }

    /// The answer to a read: all timers after the requested key, at most [`READ`].
    pub(super) fn read(&mut self, keys: &[TimerKey]) {
        let Some(During { before, changes }) = self.during.take() else { return };
        self.horizon = match keys.last() {
            Some(last) if keys.len() >= READ => Horizon::Until(*last),
            _ => before.map_or(Horizon::Everything, Horizon::Before),
        };
        self.known.extend(keys);
        // Commits that overlapped the read may or may not be in its result, so their changes are
        // applied to it: an armed timer is added, a removed one does not come back.
        for (key, armed) in changes {
            if armed && self.covers(key) {
                self.known.insert(key);
            } else if !armed {
                self.forget(key);
            }
        }
    }

    /// The read failed; the next one starts from the beginning.
    pub(super) fn read_failed(&mut self) {
        self.during = None;
        self.look_again = true;
    }

    fn covers(&self, key: TimerKey) -> bool {
        match self.horizon {
            Horizon::Nothing => false,
            Horizon::Until(last) => key <= last,
            Horizon::Before(instant) => key.due_at < instant,
            Horizon::Everything => true,
        }
    }

    fn cache_update(&mut self, key: TimerKey, armed: bool) {
        if let Some(during) = &mut self.during {
            during.changes.push((key, armed));
        }
    }

    /// Drops the latest timers if too many are known, and moves the horizon before them.
    fn shrink(&mut self) {
        if self.known.len() > 2 * READ {
            while self.known.len() > READ {
                self.known.pop_last();
            }
            self.horizon = self.known.last().map_or(Horizon::Nothing, |key| Horizon::Until(*key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meantime_core::{InstanceId, TimerId};

    fn key(due_ms: i64, number: u32) -> TimerKey {
        let id = TimerId(InstanceId::new(1, 1).effect(1, number));
        TimerKey { frozen: false, due_at: Timestamp::from_millis(due_ms), id }
    }

    #[test]
    fn a_timer_armed_while_a_read_is_under_way_is_not_lost() {
        let mut queue = TimerQueue::new(false);
        assert_eq!(queue.wants_read(Timestamp::MIN), Some(Read { after: None, before: None }));
        queue.arm(key(5, 0));
        queue.read(&[key(7, 1)]);
        assert_eq!(queue.pop_due(Timestamp::from_millis(9)), Some(key(5, 0)));
        assert_eq!(queue.pop_due(Timestamp::from_millis(9)), Some(key(7, 1)));
        assert_eq!(queue.wants_read(Timestamp::MIN), None);
    }

    #[test]
    fn a_timer_removed_while_a_read_is_under_way_does_not_come_back() {
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        queue.remove(key(5, 0));
        queue.read(&[key(5, 0)]);
        assert_eq!(queue.next_due(), None);
    }

    #[test]
    fn timers_behind_the_horizon_are_left_to_the_store() {
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        queue.read(&[]);
        for number in 0..40_000 {
            queue.arm(key(i64::from(number), number));
        }
        assert!(queue.known.len() <= 2 * READ);
        while queue.pop_due(Timestamp::MAX).is_some() {}
        assert!(queue.wants_read(Timestamp::MIN).is_some_and(|read| read.after.is_some()));
    }

    #[test]
    fn nothing_is_due_early() {
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        queue.read(&[key(10, 0)]);
        assert_eq!(queue.pop_due(Timestamp::from_millis(9)), None);
        assert_eq!(queue.next_due(), Some(Timestamp::from_millis(10)));
    }

    #[test]
    fn on_a_shared_store_only_the_next_moments_are_known_and_looked_at_again() {
        let at = Timestamp::from_millis;
        let mut queue = TimerQueue::new(true);
        let before = Some(at(WINDOW_MS));
        assert_eq!(queue.wants_read(at(0)), Some(Read { after: None, before }));
        queue.read(&[]);
        queue.arm(key(WINDOW_MS + 1, 0));
        assert_eq!(queue.next_due(), None);
        assert_eq!(queue.wants_read(at(5)), None);
        queue.look_again();
        assert!(queue.wants_read(at(5)).is_some());
        queue.read(&[key(WINDOW_MS + 1, 0)]);
        assert_eq!(queue.next_due(), Some(at(WINDOW_MS + 1)));
    }

    #[test]
    fn t8_timers_wait_for_their_definition_and_keep_their_order() {
        let (late, soon) = (DefinitionId(7), Timestamp::from_millis(9));
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        queue.read(&[key(1, 0), key(2, 1), key(3, 2), key(4, 3)]);
        queue.hold(key(1, 0), late);
        queue.hold(key(3, 2), late);
        queue.hold(key(4, 3), late);
        assert_eq!(queue.pop_due(soon), Some(key(2, 1)));
        assert_eq!(queue.pop_due(soon), None);
        assert!(queue.is_holding());
        assert_eq!(queue.wants_read(Timestamp::MIN), None);
        queue.remove(key(3, 2));
        queue.release(late);
        assert_eq!(queue.pop_due(soon), Some(key(1, 0)));
        assert_eq!(queue.pop_due(soon), Some(key(4, 3)));
        assert!(!queue.is_holding());
    }

    #[test]
    fn timers_of_another_share_are_forgotten() {
        let mut queue = TimerQueue::new(true);
        queue.wants_read(Timestamp::MIN);
        queue.read(&[key(5, 0)]);
        queue.partition_changed(Partition { index: 0, count: 2 });
        assert_eq!(queue.next_due(), None);
        assert!(queue.wants_read(Timestamp::MIN).is_some());
    }
}
