//! The head of the due-time index, in memory.
//!
//! The rows in the store are the truth; this is a cache of the earliest of them (I3). It knows
//! every timer up to its *horizon* and none after it, so it is bounded however many timers are
//! armed. It reads the store only when all timers that it knows have been used: no polling (I12).
//!
//! Due timers wait by definition, in due order (T8), until there is room for their turns: a hundred
//! thousand due timers of one definition do not delay those of another.
//!
//! On a shared store, other nodes arm timers too. Then it knows the timers of its partition for the
//! next seconds only and reads them again at every heartbeat. A timer that another node arms within
//! that window is announced by a notice.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{DefinitionId, Timestamp};

use crate::fault_injection::{InjectedBug, is_injected};
use crate::store::{Partition, TimerKey};

/// How many timers one read returns.
pub(super) const TIMERS_PER_READ: usize = 8_192;

/// How far ahead a node on a shared store reads, in milliseconds: several heartbeats.
pub(super) const WINDOW_MS: i64 = 20_000;

/// So many timers that are due wait in memory; what is behind them waits in the store.
const MAX_DUE: usize = 32 * TIMERS_PER_READ;

/// A read to make: all timers after a key, at most [`TIMERS_PER_READ`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) after: Option<TimerKey>,
    pub(super) before: Option<Timestamp>,
}

/// Earliest timers first.
#[derive(Debug)]
pub(super) struct TimerQueue {
    known: BTreeMap<TimerKey, DefinitionId>,
    /// Those that are due, by definition, and how many there are.
    due: BTreeMap<DefinitionId, BTreeSet<TimerKey>>,
    due_count: usize,
    /// The definition that had a timer taken out last.
    last: DefinitionId,
    /// Definitions that are being loaded.
    held: BTreeSet<DefinitionId>,
    /// The last key that is surely known; none when all are.
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
    /// Timers that were armed, with their definition, or removed.
    changes: Vec<(TimerKey, Option<DefinitionId>)>,
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
        Self {
            known: BTreeMap::new(),
            due: BTreeMap::new(),
            due_count: 0,
            last: DefinitionId(0),
            held: BTreeSet::new(),
            horizon: Horizon::Nothing,
            during: None,
            shared,
            look_again: false,
        }
    }

    /// Requests a new read from the beginning, because other nodes may have armed timers.
    pub(super) fn look_again(&mut self) {
        self.look_again = true;
    }

    /// The node is now responsible for another partition: timers of other partitions are dropped,
    /// and everything is read again.
    pub(super) fn partition_changed(&mut self, partition: Partition) {
        self.known.retain(|key, _| partition.holds(key.id.0.instance));
        // The read from the beginning finds them again.
        (self.due, self.due_count) = (BTreeMap::new(), 0);
        self.held.clear();
        self.horizon = Horizon::Nothing;
        self.look_again = true;
    }

    /// A timer was armed by a commit.
    pub(super) fn arm(&mut self, key: TimerKey, definition: DefinitionId) {
        if key.frozen {
            return;
        }
        self.note_change(key, Some(definition));
        if self.covers(key) {
            self.insert(key, definition);
            self.shrink();
        }
    }

    /// A timer was removed by a commit.
    pub(super) fn remove(&mut self, key: TimerKey) {
        self.note_change(key, None);
        self.forget(key);
    }

    fn insert(&mut self, key: TimerKey, definition: DefinitionId) {
        // A read from the beginning brings those again that are due.
        if !self.due.get(&definition).is_some_and(|due| due.contains(&key)) {
            self.known.insert(key, definition);
        }
    }

    fn forget(&mut self, key: TimerKey) {
        if self.known.remove(&key).is_some() {
            return;
        }
        // Few definitions have timers that are due and wait.
        for due in self.due.values_mut() {
            self.due_count -= usize::from(due.remove(&key));
        }
        self.due.retain(|_, due| !due.is_empty());
    }

    /// Timers cannot fire before their definition is loaded: all of them wait, so that they keep
    /// their order (T8).
    pub(super) fn hold(&mut self, definition: DefinitionId) {
        self.held.insert(definition);
    }

    /// A definition is loaded, or cannot be loaded.
    pub(super) fn release(&mut self, definition: DefinitionId) {
        self.held.remove(&definition);
    }

    /// Whether timers wait for their definition.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes out the next due timer, of each definition in turn: its earliest. Definitions without
    /// room for another turn are passed over.
    pub(super) fn pop_due(
        &mut self,
        now: Timestamp,
        has_room: impl Fn(DefinitionId) -> bool,
    ) -> Option<(TimerKey, DefinitionId)> {
        self.sort_due(now);
        let can_fire =
            |definition: &DefinitionId| !self.held.contains(definition) && has_room(*definition);
        let (after, before) =
            (self.due.range(next(self.last)..), self.due.range(..next(self.last)));
        let mut definitions = after.chain(before).map(|(definition, _)| *definition);
        let definition = definitions.find(can_fire)?;
        self.last = definition;
        let due = self.due.get_mut(&definition)?;
        let key = due.pop_first()?;
        self.due_count -= 1;
        if due.is_empty() {
            self.due.remove(&definition);
        }
        Some((key, definition))
    }

    /// Moves what has become due to its definition.
    fn sort_due(&mut self, now: Timestamp) {
        let now =
            if is_injected(InjectedBug::FireEarly) { now.saturating_add_millis(500) } else { now };
        while self.due_count < MAX_DUE
            && let Some(first) = self.known.first_entry().filter(|it| it.key().due_at <= now)
        {
            let (key, definition) = first.remove_entry();
            self.due_count += usize::from(self.due.entry(definition).or_default().insert(key));
        }
    }

    /// When the next timer becomes due. Those that are due already wait for room, which time does
    /// not give them, and must not hide the ones to come.
    pub(super) fn next_to_come(&self) -> Option<Timestamp> {
        self.known.first_key_value().map(|(key, _)| key.due_at)
    }

    /// When the next known timer is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let waiting = self.due.values().filter_map(BTreeSet::first);
        let first = waiting.chain(self.known.first_key_value().map(|(key, _)| key)).min();
        first.map(|key| key.due_at)
    }

    /// The read to perform, if one is needed. Marks it as in progress.
    pub(super) fn wants_read(&mut self, now: Timestamp) -> Option<Read> {
        if self.during.is_some() {
            return None;
        }
        let after = match self.horizon {
            _ if self.look_again => None,
            _ if !self.known.is_empty() || !self.held.is_empty() => return None,
            // What is due and waits in memory is enough for now.
            _ if self.due_count >= MAX_DUE => return None,
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

    /// The answer of the store: all timers after the requested key, at most [`TIMERS_PER_READ`].
    pub(super) fn read(&mut self, timers: &[(TimerKey, DefinitionId)]) {
        let During { before, changes } = self.during.take().expect("a read was asked for");
        self.horizon = match timers.last() {
            Some((last, _)) if timers.len() >= TIMERS_PER_READ => Horizon::Until(*last),
            _ => before.map_or(Horizon::Everything, Horizon::Before),
        };
        for (key, definition) in timers {
            self.insert(*key, *definition);
        }
        // The read may have missed commits that overlapped it.
        for (key, armed) in changes {
            match armed {
                Some(definition) if self.covers(key) => self.insert(key, definition),
                Some(_) => {}
                None => self.forget(key),
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

    fn note_change(&mut self, key: TimerKey, armed: Option<DefinitionId>) {
        if let Some(during) = &mut self.during {
            during.changes.push((key, armed));
        }
    }

    /// Drops the latest timers if too many are known, and moves the horizon before them.
    fn shrink(&mut self) {
        if self.known.len() > 2 * TIMERS_PER_READ {
            while self.known.len() > TIMERS_PER_READ {
                self.known.pop_last();
            }
            let last = self.known.last_key_value();
            self.horizon = last.map_or(Horizon::Nothing, |(key, _)| Horizon::Until(*key));
        }
    }
}

/// The definition after one.
const fn next(definition: DefinitionId) -> DefinitionId {
    DefinitionId(definition.0.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meantime_core::{InstanceId, TimerId};

    const ONE: DefinitionId = DefinitionId(1);

    fn pop(queue: &mut TimerQueue, now: Timestamp) -> Option<TimerKey> {
        queue.pop_due(now, |_| true).map(|(key, _)| key)
    }

    fn of_one(keys: &[TimerKey]) -> Vec<(TimerKey, DefinitionId)> {
        keys.iter().map(|key| (*key, ONE)).collect()
    }

    #[test]
    fn t8_a_storm_of_one_definition_does_not_keep_the_timers_of_another() {
        let (storm, other) = (DefinitionId(1), DefinitionId(2));
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        let mut timers: Vec<_> = (0..100).map(|at| (key(at, 0), storm)).collect();
        timers.extend([(key(200, 1), other), (key(201, 2), other)]);
        queue.read(&timers);
        let now = Timestamp::from_millis(300);
        let popped: Vec<_> = (0..5).filter_map(|_| queue.pop_due(now, |_| true)).collect();
        let wanted = [key(0, 0), key(200, 1), key(1, 0), key(201, 2), key(2, 0)];
        assert_eq!(popped.iter().map(|(key, _)| *key).collect::<Vec<_>>(), wanted);
        queue.arm(key(400, 3), other);
        assert_eq!(queue.pop_due(now, |it| it != storm), None, "it has no room for more");
        assert_eq!(queue.next_to_come(), Some(Timestamp::from_millis(400)), "others go on");
        assert_eq!(queue.next_due(), Some(Timestamp::from_millis(3)));
        queue.remove(key(3, 0));
        assert_eq!(queue.next_due(), Some(Timestamp::from_millis(4)));
    }

    #[test]
    fn timers_that_are_due_and_wait_are_not_read_twice() {
        let mut queue = TimerQueue::new(true);
        queue.wants_read(Timestamp::MIN);
        queue.read(&of_one(&[key(1, 0), key(2, 1)]));
        let now = Timestamp::from_millis(5);
        assert_eq!(queue.pop_due(now, |_| false), None);
        queue.look_again();
        assert!(queue.wants_read(now).is_some());
        queue.read(&of_one(&[key(1, 0), key(2, 1)]));
        assert_eq!(
            (pop(&mut queue, now), pop(&mut queue, now)),
            (Some(key(1, 0)), Some(key(2, 1)))
        );
        assert_eq!(pop(&mut queue, now), None);
    }

    fn key(due_ms: i64, number: u32) -> TimerKey {
        let id = TimerId(InstanceId::new(1, 1).effect(1, number));
        TimerKey { frozen: false, due_at: Timestamp::from_millis(due_ms), id }
    }

    #[test]
    fn a_timer_armed_while_a_read_is_under_way_is_not_lost() {
        let mut queue = TimerQueue::new(false);
        assert_eq!(queue.wants_read(Timestamp::MIN), Some(Read { after: None, before: None }));
        queue.arm(key(5, 0), ONE);
        queue.read(&of_one(&[key(7, 1)]));
        assert_eq!(pop(&mut queue, Timestamp::from_millis(9)), Some(key(5, 0)));
        assert_eq!(pop(&mut queue, Timestamp::from_millis(9)), Some(key(7, 1)));
        assert_eq!(queue.wants_read(Timestamp::MIN), None);
    }

    #[test]
    fn a_timer_removed_while_a_read_is_under_way_does_not_come_back() {
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        queue.remove(key(5, 0));
        queue.read(&of_one(&[key(5, 0)]));
        assert_eq!(queue.next_due(), None);
    }

    #[test]
    fn timers_behind_the_horizon_are_left_to_the_store() {
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        queue.read(&[]);
        for number in 0..40_000 {
            queue.arm(key(i64::from(number), number), ONE);
        }
        assert!(queue.known.len() <= 2 * TIMERS_PER_READ);
        while pop(&mut queue, Timestamp::MAX).is_some() {}
        assert!(queue.wants_read(Timestamp::MIN).is_some_and(|read| read.after.is_some()));
    }

    #[test]
    fn nothing_is_due_early() {
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        queue.read(&of_one(&[key(10, 0)]));
        assert_eq!(pop(&mut queue, Timestamp::from_millis(9)), None);
        assert_eq!(queue.next_due(), Some(Timestamp::from_millis(10)));
    }

    #[test]
    fn on_a_shared_store_only_the_next_moments_are_known_and_looked_at_again() {
        let at = Timestamp::from_millis;
        let mut queue = TimerQueue::new(true);
        let before = Some(at(WINDOW_MS));
        assert_eq!(queue.wants_read(at(0)), Some(Read { after: None, before }));
        queue.read(&[]);
        queue.arm(key(WINDOW_MS + 1, 0), ONE);
        assert_eq!(queue.next_due(), None);
        assert_eq!(queue.wants_read(at(5)), None);
        queue.look_again();
        assert!(queue.wants_read(at(5)).is_some());
        queue.read(&of_one(&[key(WINDOW_MS + 1, 0)]));
        assert_eq!(queue.next_due(), Some(at(WINDOW_MS + 1)));
    }

    #[test]
    fn t8_timers_wait_for_their_definition_and_keep_their_order() {
        let (late, soon) = (DefinitionId(7), Timestamp::from_millis(9));
        let mut queue = TimerQueue::new(false);
        queue.wants_read(Timestamp::MIN);
        let timers = [(key(1, 0), late), (key(2, 1), ONE), (key(3, 2), late), (key(4, 3), late)];
        queue.read(&timers);
        queue.hold(late);
        assert_eq!(pop(&mut queue, soon), Some(key(2, 1)));
        assert_eq!(pop(&mut queue, soon), None);
        assert!(queue.is_holding());
        assert_eq!(queue.wants_read(Timestamp::MIN), None);
        queue.remove(key(3, 2));
        queue.release(late);
        assert_eq!(pop(&mut queue, soon), Some(key(1, 0)));
        assert_eq!(pop(&mut queue, soon), Some(key(4, 3)));
        assert!(!queue.is_holding());
    }

    #[test]
    fn timers_of_another_share_are_forgotten() {
        let mut queue = TimerQueue::new(true);
        queue.wants_read(Timestamp::MIN);
        queue.read(&of_one(&[key(5, 0)]));
        queue.partition_changed(Partition { index: 0, count: 2 });
        assert_eq!(queue.next_due(), None);
        assert!(queue.wants_read(Timestamp::MIN).is_some());
    }
}
