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
//! Whoever cancels such an instance does not wait for it. The turn is dropped, and the cancel goes
//! before the event that takes so long; a second cancel ends the instance without asking its
//! notation at all. So the budget of a notation is never what keeps an operator from ending it.

use std::collections::BTreeMap;

use meantime_core::{Event, Fault, InstanceId, Turn};

use super::batch::{Batch, Work};
use super::engine::Machine;
use super::io::Output;
use super::slot::Pending;

/// A turn that its batch did not wait for.
struct SlowTurn {
    work: Work,
    /// The lease term in which it began.
    sitting: Option<u64>,
}

/// All of them.
#[derive(Default)]
pub(super) struct SlowTurns {
    /// By the batch they left and their number among its jobs.
    computing: BTreeMap<(u64, usize), SlowTurn>,
    instances: BTreeMap<InstanceId, (u64, usize)>,
    /// Through, and waiting for the next batch.
    computed: Vec<(SlowTurn, Result<Turn, Fault>)>,
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
    pub(super) fn items(&self) -> impl Iterator<Item = &Pending> {
        let computed = self.computed.iter().map(|(slow, _)| slow);
        self.computing.values().chain(computed).flat_map(|slow| &slow.work.items)
    }

    pub(super) fn items_mut(&mut self) -> impl Iterator<Item = &mut Pending> {
        let computed = self.computed.iter_mut().map(|(slow, _)| slow);
        self.computing.values_mut().chain(computed).flat_map(|slow| &mut slow.work.items)
    }

    pub(super) fn has_cancel(&self, id: InstanceId) -> bool {
        self.cancels.contains_key(&id)
    }

    /// How a cancel of the instance is to be treated; forgotten with the question.
    pub(super) fn take_cancel(&mut self, id: InstanceId) -> Option<bool> {
        self.cancels.remove(&id)
    }

    /// Takes the turns that are through into a batch. Their callers wait in it from now on.
    pub(super) fn join(&mut self, batch: &mut Batch) {
        for (slow, turn) in std::mem::take(&mut self.computed) {
            batch.add_computed(slow.work, turn);
        }
    }
}

impl Machine {
    /// A job of a batch takes long: the batch goes on without it.
    pub(super) fn leave_behind(
        &mut self,
        work: Work,
        batch: u64,
        job: usize,
        sitting: Option<u64>,
    ) {
        self.counters.slow_turns += 1;
        let name = (batch, job);
        self.slow.instances.insert(work.id, name);
        self.slow.computing.insert(name, SlowTurn { work, sitting });
    }

    /// A turn is through that its batch did not wait for.
    pub(super) fn slow_turn(&mut self, batch: u64, job: usize, turn: Result<Turn, Fault>) {
        // One that was dropped is nobody's any more.
        let Some(slow) = self.slow.computing.remove(&(batch, job)) else { return };
        self.slow.instances.remove(&slow.work.id);
        if slow.sitting == self.company.sitting {
            self.slow.computed.push((slow, turn));
        } else {
            self.put_back(slow.work);
        }
    }

    /// Somebody cancels an instance: a turn that takes long does not hold that up. Says whether
    /// there was one.
    pub(super) fn cancel_overtakes(&mut self, id: InstanceId) -> bool {
        let Some(name) = self.slow.instances.remove(&id) else { return false };
        let Some(slow) = self.slow.computing.remove(&name) else { return false };
        let first = slow.work.assembly.as_ref().and_then(|it| it.events.first());
        let was_cancelling = matches!(first, Some(Event::Cancel { .. }));
        self.slow.cancels.insert(id, was_cancelling);
        self.output(Output::Drop(name.0, name.1));
        self.put_back(slow.work);
        true
    }
}
