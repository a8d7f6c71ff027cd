//! Turns that take long: they leave their batch, and nobody waits for them but their own callers.
//!
//! ```text
//!   Advanced(batch, [turn, none, turn]) ─► the batch commits without its second member
//!                                                      │ still computed, in a lane of its own
//!   SlowTurn(batch, 1, turn) ─► joins the next batch ◄─┘ its fence decides, as always
//! ```
//!
//! Which turn is slow is a matter of the driver's patience, so it may differ from run to run; what
//! a turn decides does not (I6). On a shared store the locks of the batch are gone by the time the
//! turn is there, and another node may have been faster: then it is a conflict and begins anew.
//!
//! A turn that is computed can be too heavy as well: one with thousands of effects takes the store
//! long. A batch commits so many effects at most, or one turn; the others follow in the next ones.
//!
//! Whoever cancels such an instance does not wait for it. The turn is dropped, and the cancel goes
//! before the event that takes so long; a second cancel ends the instance without asking its
//! notation at all. So the budget of a notation is never what keeps an operator from ending it.

use std::collections::{BTreeMap, VecDeque};

use meantime_core::{DefinitionId, Event, Fault, InstanceId, Turn};

use super::batch::{Batch, BatchEntry};
use super::engine::Machine;
use super::io::Output;
use super::mailbox::PendingItem;
use super::ready::Mix;

/// How many effects one batch commits, unless a single turn has more.
pub(super) const EFFECTS_PER_BATCH: usize = 512;

/// The same when callers wait for some of its turns and nobody for others.
const EFFECTS_PER_MIXED_BATCH: usize = 64;

/// How many effects a batch commits, by whom its turns are for.
pub(super) const fn effects_per_batch(mix: Mix) -> usize {
    match mix {
        Mix::Plain => EFFECTS_PER_BATCH,
        Mix::Mixed | Mix::MixedAndCut => EFFECTS_PER_MIXED_BATCH,
    }
}

/// A definition with so many slow turns gets no more until some are through: what waits for the
/// slow lane is held in memory.
const PER_DEFINITION: usize = 64;

/// What a turn is to the store.
pub(super) fn effects(turn: &Result<Turn, Fault>) -> usize {
    turn.as_ref().map_or(0, |turn| turn.effects.len())
}

/// A turn that its batch did not wait for.
struct SlowTurn {
    entry: BatchEntry,
    definition: DefinitionId,
    /// The lease term in which it began.
    lease_term: Option<u64>,
}

/// All of them.
#[derive(Default)]
pub(super) struct SlowTurns {
    /// By the batch they left and their number among its jobs.
    computing: BTreeMap<(u64, usize), SlowTurn>,
    instances: BTreeMap<InstanceId, (u64, usize)>,
    /// Through, and waiting for the next batch.
    computed: VecDeque<(SlowTurn, Result<Turn, Fault>)>,
    /// How many there are of each definition.
    definitions: BTreeMap<DefinitionId, usize>,
    /// Instances whose cancel goes before everything else; true: without asking the notation.
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

    /// Whether some are through and wait for a batch.
    pub(super) fn has_computed(&self) -> bool {
        !self.computed.is_empty()
    }

    /// What waits in memory for them.
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

    /// How a cancel of the instance is to be treated; forgotten with the question.
    pub(super) fn take_cancel(&mut self, id: InstanceId) -> Option<bool> {
        self.cancels.remove(&id)
    }

    /// Whether a definition has so many slow turns that the next ones have to wait.
    pub(super) fn has_many(&self, definition: DefinitionId) -> bool {
        self.definitions.get(&definition).is_some_and(|count| *count >= PER_DEFINITION)
    }

    /// Takes turns that are through into a batch, and leaves half of it to others. Their callers
    /// wait in it from now on.
    pub(super) fn join(&mut self, batch: &mut Batch) {
        let limit = effects_per_batch(batch.mix) / 2;
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
    /// A job of a batch takes long: the batch goes on without it.
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

    /// A turn is computed and its batch is heavy enough without it: it joins a later one.
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

    /// Turns of an earlier lease term begin anew: another holder may have gone on.
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
            self.slow.forget(slow.definition);
            self.put_back(slow.entry);
        }
    }

    /// A turn is through that its batch did not wait for.
    pub(super) fn slow_turn(&mut self, batch: u64, job: usize, turn: Result<Turn, Fault>) {
        // Its batch may still wait for an earlier one: then it goes with it after all.
        let held = self.batches.get_mut(&batch).and_then(|it| it.held.as_mut());
        if let Some(turn_of @ None) = held.and_then(|turns| turns.get_mut(job)) {
            *turn_of = Some(turn);
            return;
        }
        // One that was dropped is nobody's any more.
        let Some(slow) = self.slow.computing.remove(&(batch, job)) else { return };
        self.slow.instances.remove(&slow.entry.id);
        if slow.lease_term == self.cluster.lease_term() {
            self.slow.computed.push_back((slow, turn));
        } else {
            self.slow.forget(slow.definition);
            self.put_back(slow.entry);
        }
    }

    /// Somebody cancels an instance: a turn that takes long does not hold that up. Says whether
    /// there was one.
    pub(super) fn cancel_overtakes(&mut self, id: InstanceId) -> bool {
        let Some(name) = self.slow.instances.remove(&id) else { return false };
        let Some(slow) = self.slow.computing.remove(&name) else { return false };
        self.slow.forget(slow.definition);
        let first = slow.entry.builder.as_ref().and_then(|it| it.events.first());
        let was_cancelling = matches!(first, Some(Event::Cancel { .. }));
        self.slow.cancels.insert(id, was_cancelling);
        self.output(Output::Drop(name.0, name.1));
        self.put_back(slow.entry);
        true
    }
}
