//! The head of the due-time index, in memory.
//!
//! The rows in the store are the truth; this is a cache of the earliest of them (I3). It knows
//! every timer up to its *horizon* and nothing behind it, so it is bounded however many timers
//! sleep, and it asks the store only when its head is used up: no polling (I12).

use std::collections::BTreeSet;

use meantime_core::Timestamp;

use crate::store::TimerKey;

/// How many timers one read brings.
pub(super) const READ: usize = 8_192;

/// A read to make: all timers after a key, at most [`READ`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) after: Option<TimerKey>,
}

/// Earliest timers first.
#[derive(Debug)]
pub(super) struct TimerQueue {
    known: BTreeSet<TimerKey>,
    /// The last key that is surely known; none when all are.
    horizon: Horizon,
    /// Changes made by commits while a read is under way.
    during: Option<Vec<(TimerKey, bool)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Horizon {
    Nothing,
    Until(TimerKey),
    Everything,
}

impl TimerQueue {
    /// A queue that knows nothing yet.
    pub(super) fn new() -> Self {
        Self { known: BTreeSet::new(), horizon: Horizon::Nothing, during: None }
    }

    /// A timer was armed by a commit.
    pub(super) fn arm(&mut self, key: TimerKey) {
        if key.frozen {
            return;
        }
        self.note(key, true);
        if self.covers(key) {
            self.known.insert(key);
            self.shrink();
        }
    }

    /// A timer was removed by a commit.
    pub(super) fn remove(&mut self, key: TimerKey) {
        self.note(key, false);
        self.known.remove(&key);
    }

    /// The next due timer, taken out.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<TimerKey> {
        self.known.first().filter(|key| key.due_at <= now)?;
        self.known.pop_first()
    }

    /// When the next known timer is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.known.first().map(|key| key.due_at)
    }

    /// Whether the store must be asked. Marks the read as under way.
    pub(super) fn wants_read(&mut self) -> Option<Read> {
        if !self.known.is_empty() || self.during.is_some() {
            return None;
        }
        let after = match self.horizon {
            Horizon::Everything => return None,
            Horizon::Nothing => None,
            Horizon::Until(key) => Some(key),
        };
        self.during = Some(Vec::new());
        Some(Read { after })
    }

    /// What the store answered: all timers after the key that was asked for, at most [`READ`].
    pub(super) fn read(&mut self, keys: &[TimerKey]) {
        self.horizon = match keys.last() {
            Some(last) if keys.len() >= READ => Horizon::Until(*last),
            _ => Horizon::Everything,
        };
        self.known.extend(keys);
        // The read may have missed commits that overlapped it.
        for (key, armed) in self.during.take().unwrap_or_default() {
            if armed && self.covers(key) {
                self.known.insert(key);
            } else if !armed {
                self.known.remove(&key);
            }
        }
    }

    /// The read failed; it will be tried again.
    pub(super) fn read_failed(&mut self) {
        self.during = None;
    }

    fn covers(&self, key: TimerKey) -> bool {
        match self.horizon {
            Horizon::Nothing => false,
            Horizon::Until(last) => key <= last,
            Horizon::Everything => true,
        }
    }

    fn note(&mut self, key: TimerKey, armed: bool) {
        if let Some(during) = &mut self.during {
            during.push((key, armed));
        }
    }

    /// Forgets the far end when too much is known.
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
        let mut queue = TimerQueue::new();
        assert_eq!(queue.wants_read(), Some(Read { after: None }));
        queue.arm(key(5, 0));
        queue.read(&[key(7, 1)]);
        assert_eq!(queue.pop_due(Timestamp::from_millis(9)), Some(key(5, 0)));
        assert_eq!(queue.pop_due(Timestamp::from_millis(9)), Some(key(7, 1)));
        assert_eq!(queue.wants_read(), None);
    }

    #[test]
    fn a_timer_removed_while_a_read_is_under_way_does_not_come_back() {
        let mut queue = TimerQueue::new();
        queue.wants_read();
        queue.remove(key(5, 0));
        queue.read(&[key(5, 0)]);
        assert_eq!(queue.next_due(), None);
    }

    #[test]
    fn timers_behind_the_horizon_are_left_to_the_store() {
        let mut queue = TimerQueue::new();
        queue.wants_read();
        queue.read(&[]);
        for number in 0..40_000 {
            queue.arm(key(i64::from(number), number));
        }
        assert!(queue.known.len() <= 2 * READ);
        while queue.pop_due(Timestamp::MAX).is_some() {}
        assert!(queue.wants_read().is_some_and(|read| read.after.is_some()));
    }

    #[test]
    fn nothing_is_due_early() {
        let mut queue = TimerQueue::new();
        queue.wants_read();
        queue.read(&[key(10, 0)]);
        assert_eq!(queue.pop_due(Timestamp::from_millis(9)), None);
        assert_eq!(queue.next_due(), Some(Timestamp::from_millis(10)));
    }
}
