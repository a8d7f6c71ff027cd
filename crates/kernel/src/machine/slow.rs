//! Slow turns: they leave their batch, and only their own callers wait for them.
//!
//! ```text
//!   Advanced(batch, [turn, none, turn]) ─► the batch commits without its second member
//!                                                      │ still computed, in a lane of its own
//!   SlowTurn(batch, 1, turn) ─► joins the next batch ◄─┘ its fence decides, as always
//! ```
//!
//! Which turn is slow depends on how long the driver waits, so it may differ between runs; the
//! result of a turn does not (I6). On a shared store the locks of the batch are released before the
//! turn is computed, and another node may advance the instance meanwhile: then the turn conflicts
//! and is computed again.
//!
//! A computed turn can also be too heavy: thousands of effects take the store long. A batch commits
//! a limited number of effects, or a single turn; other turns follow in later batches.
//!
//! A cancel does not wait for a slow turn. The turn is dropped, and the cancel comes before the
//! event that was slow; a second cancel ends the instance without calling its notation. So a
//! notation can never keep an operator from ending an instance.

use std::collections::{BTreeMap, VecDeque};

use meantime_core::{DefinitionId, Event, Fault, InstanceId, Turn};

use super::batch::{Batch, BatchEntry};
use super::engine::Machine;
use super::io::Output;
use super::mailbox::PendingItem;

/// How many effects one batch commits when callers wait for some of its turns only: so many, and
/// two for each turn, so that a batch of many light turns is not cut.
pub(super) const EFFECTS_PER_MIXED_BATCH: usize = 32;

/// A definition with this many slow turns gets no more until some have finished, because each is
/// kept in memory.
const PER_DEFINITION: usize = 64;

/// The weight of a turn for the store, in effects: an event that it takes is a row too, such as a
/// timer that fires.
pub(super) fn effects(turn: &Result<Turn, Fault>) -> usize {
    turn.as_ref().map_or(0, |turn| turn.effects.len().max(turn.verdicts.len()))
}

/// A turn that left its batch.
struct SlowTurn {
    entry: BatchEntry,
    definition: DefinitionId,
    /// The lease term in which it began.
    lease_term: Option<u64>,
}

/// All slow turns.
#[derive(Default)]
pub(super) struct SlowTurns {
    /// Being computed, by the batch they left and their index among its jobs.
    computing: BTreeMap<(u64, usize), SlowTurn>,
    instances: BTreeMap<InstanceId, (u64, usize)>,
    /// Computed, and waiting for the next batch.
    computed: VecDeque<(SlowTurn, Result<Turn, Fault>)>,
    /// The number of slow turns of each definition.
    definitions: BTreeMap<DefinitionId, usize>,
    /// Instances whose cancel comes before everything else; true: without calling the notation.
    cancels: BTreeMap<InstanceId, bool>,
}

impl SlowTurns {
    /// How many are being computed.
    pub(super) fn len(&self) -> usize {
        self.computing.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.computing.is_empty() && self.computed.is_empty()
    }

    /// Whether computed turns wait for a batch.
    pub(super) fn has_computed(&self) -> bool {
        !self.computed.is_empty()
    }

    /// Their items, which wait in memory.
    pub(super) fn items(&self) -> impl Iterator<Item = &PendingItem> {
        let computed = self.computed.iter().map(|(slow, _)| slow);
        self.computing.values().chain(computed).flat_map(|slow| &slow.entry.items)
    }

    pub(super) fn items_mut(&mut self) -> impl Iterator<Item = &mut PendingItem> {
        let computed = self.computed.iter_mut().map(|(slow, _)| slow);
        self.computing.values_mut().chain(computed).flat_map(|slow| &mut slow.entry.items)
    }

    pub(super) fn has_cancel(&self, id: InstanceId) -> bool {
        self.cancels.contains_key(&id)
    }

    /// How a cancel of the instance is handled; removed by this call.
    pub(super) fn take_cancel(&mut self, id: InstanceId) -> Option<bool> {
        self.cancels.remove(&id)
    }

    /// Whether a definition has so many slow turns that further ones must wait.
    pub(super) fn has_many(&self, definition: DefinitionId) -> bool {
        self.definitions.get(&definition).is_some_and(|count| *count >= PER_DEFINITION)
    }

    /// How many effects computed turns will bring into a batch with so much room, at most half of
    /// it.
    pub(super) fn effects_to_join(&self, room: usize) -> usize {
        let mut sum = 0;
        for (_, turn) in &self.computed {
            sum += effects(turn).max(1);
            if sum >= room / 2 {
                return room / 2;
            }
        }
        sum
    }

    /// Adds computed turns to a batch, up to half of its effects or one turn, so that fresh turns
    /// have room too.
    pub(super) fn join(&mut self, batch: &mut Batch) {
        let limit = batch.effects_limit() / 2;
        let mut left = limit;
        while let Some((_, turn)) = self.computed.front() {
            let weight = effects(turn);
            if weight > left && left < limit {
                break;
            }
            left = left.saturating_sub(weight.max(1));
            if let Some((slow, turn)) = self.computed.pop_front() {
                self.forget(slow.definition);
                batch.add_computed(slow.entry, turn);
            }
        }
    }

    fn add(&mut self, definition: DefinitionId) {
        *self.definitions.entry(definition).or_default() += 1;
    }

    fn forget(&mut self, definition: DefinitionId) {
        if let Some(count) = self.definitions.get_mut(&definition) {
            *count -= 1;
            if *count == 0 {
                self.definitions.remove(&definition);
            }
        }
    }
}

impl Machine {
    /// A job of a batch is slow: the batch continues without it.
    pub(super) fn detach_slow_turn(
        &mut self,
        entry: BatchEntry,
        batch: u64,
        job: usize,
        lease_term: Option<u64>,
    ) {
        self.counters.slow_turns += 1;
        let name = (batch, job);
        let definition = entry.definition_id();
        self.slow.add(definition);
        self.slow.instances.insert(entry.id, name);
        self.slow.computing.insert(name, SlowTurn { entry, definition, lease_term });
    }

    /// A computed turn that would make its batch too heavy: it joins a later one.
    pub(super) fn defer_turn(
        &mut self,
        entry: BatchEntry,
        turn: Result<Turn, Fault>,
        lease_term: Option<u64>,
    ) {
        let definition = entry.definition_id();
        self.slow.add(definition);
        self.slow.computed.push_back((SlowTurn { entry, definition, lease_term }, turn));
    }

    /// Turns of an earlier lease term are computed again: another process with the same node number
    /// may have advanced the instances since.
    pub(super) fn drop_stale_turns(&mut self) {
        let lease_term = self.cluster.lease_term();
        let is_stale = |(slow, _): &(SlowTurn, Result<Turn, Fault>)| slow.lease_term != lease_term;
        if !self.slow.computed.iter().any(is_stale) {
            return;
        }
        let all = std::mem::take(&mut self.slow.computed);
        let (stale, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(is_stale);
        self.slow.computed = kept.into();
        for (slow, _) in stale {
            self.counters.stale_changes += 1;
            self.slow.forget(slow.definition);
            self.put_back(slow.entry);
        }
    }

    /// The result of a slow turn.
    pub(super) fn slow_turn(&mut self, batch: u64, job: usize, turn: Result<Turn, Fault>) {
        // Its batch may still wait for an earlier one: then the turn stays in its batch.
        let Some(turn) = self.batches.complete_held(batch, job, turn) else { return };
        // Stale: a cancel has dropped and counted the turn, and its instance gets a new one.
        let Some(slow) = self.slow.computing.remove(&(batch, job)) else { return };
        self.slow.instances.remove(&slow.entry.id);
        if slow.lease_term == self.cluster.lease_term() {
            self.slow.computed.push_back((slow, turn));
        } else {
            // Stale: computed in an earlier lease term, as in `drop_stale_turns`.
            self.counters.stale_changes += 1;
            self.slow.forget(slow.definition);
            self.put_back(slow.entry);
        }
    }

    /// A cancel drops the slow turn of its instance, so that it does not wait for it. Returns
    /// whether there was one.
    pub(super) fn cancel_overtakes(&mut self, id: InstanceId) -> bool {
        let Some(name) = self.slow.instances.remove(&id) else { return false };
        let slow = self.slow.computing.remove(&name).expect("its turn is being computed");
        self.counters.slow_turns_dropped += 1;
        self.slow.forget(slow.definition);
        let first = slow.entry.builder.as_ref().and_then(|it| it.events.first());
        let was_cancelling = matches!(first, Some(Event::Cancel { .. }));
        self.slow.cancels.insert(id, was_cancelling);
        self.output(Output::Drop(name.0, name.1));
        self.put_back(slow.entry);
        true
    }
}

#[cfg(test)]
mod tests {
    use meantime_core::Timestamp;

    use super::super::definitions::Notations;
    use super::super::engine::Config;
    use super::super::test_id::id;
    use super::super::turn_builder::TurnBuilder;
    use super::*;
    use crate::random::SeededEntropy;
    use crate::store::InstanceRow;

    const DEFINITION: DefinitionId = DefinitionId(1);

    fn machine() -> Machine {
        let entropy = Box::new(SeededEntropy::new(1));
        Machine::new(Config::default(), Notations::default(), entropy)
    }

    fn entry(number: u64, events: Vec<Event>) -> BatchEntry {
        let row = InstanceRow::accepted(id(number), DEFINITION, Timestamp::default());
        let mut builder = TurnBuilder::new(row, false);
        builder.events = events;
        let mut entry = BatchEntry::new(id(number));
        entry.builder = Some(Box::new(builder));
        entry
    }

    fn fault() -> Result<Turn, Fault> {
        Err(Fault::new("x", "x"))
    }

    #[test]
    fn a_definition_with_many_slow_turns_waits_until_one_has_finished() {
        let mut machine = machine();
        for number in 0..PER_DEFINITION {
            assert!(!machine.slow.has_many(DEFINITION));
            machine.detach_slow_turn(entry(number as u64, vec![]), 1, number, None);
        }
        assert!(machine.slow.has_many(DEFINITION));
        assert!(!machine.slow.has_many(DefinitionId(2)));
        machine.slow_turn(1, 0, fault());
        assert!(machine.slow.has_many(DEFINITION), "its turn waits for a batch");
        machine.slow.join(&mut Batch::default());
        assert!(!machine.slow.has_many(DEFINITION));
    }

    #[test]
    fn computed_turns_wait_for_a_batch_and_take_half_of_its_room() {
        let mut machine = machine();
        for number in 0..5 {
            machine.detach_slow_turn(entry(number as u64, vec![]), 1, number, None);
            machine.slow_turn(1, number, fault());
        }
        assert_eq!((machine.slow.len(), machine.slow.has_computed()), (0, true));
        assert_eq!(machine.slow.effects_to_join(100), 5);
        assert_eq!(machine.slow.effects_to_join(4), 2);
    }

    #[test]
    fn a_cancel_drops_the_slow_turn_and_a_second_one_ends_without_the_notation() {
        let mut machine = machine();
        assert!(!machine.cancel_overtakes(id(1)), "it has no slow turn");
        machine.detach_slow_turn(entry(1, vec![]), 1, 0, None);
        assert!(machine.cancel_overtakes(id(1)));
        assert!(machine.outputs.iter().any(|it| matches!(it, Output::Drop(1, 0))));
        assert_eq!(machine.slow.take_cancel(id(1)), Some(false), "the notation handles it");
        machine.slow_turn(1, 0, fault());
        assert!(machine.slow.is_empty(), "the dropped turn is not used");
        let cancel = Event::Cancel { reason: String::new() };
        machine.detach_slow_turn(entry(1, vec![cancel]), 2, 0, None);
        assert!(machine.cancel_overtakes(id(1)));
        assert_eq!(machine.slow.take_cancel(id(1)), Some(true), "the kernel ends it");
        assert_eq!(machine.counters.slow_turns_dropped, 2);
    }

    #[test]
    fn turns_of_an_earlier_lease_term_are_counted_and_computed_again() {
        let mut machine = machine();
        machine.detach_slow_turn(entry(1, vec![]), 1, 0, Some(7));
        machine.slow_turn(1, 0, fault());
        assert!(!machine.slow.has_computed());
        machine.defer_turn(entry(2, vec![]), fault(), Some(7));
        machine.defer_turn(entry(3, vec![]), fault(), None);
        machine.drop_stale_turns();
        assert_eq!(machine.counters.stale_changes, 2);
        assert_eq!(machine.slow.effects_to_join(100), 1, "that of this term is kept");
    }
}
