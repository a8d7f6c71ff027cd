//! Which instance gets the next turn: a set keyed by instance, in classes with fair shares.
//!
//! Every class with ready instances gets at least a sixth of a batch, the rest is filled in class
//! order. So new work does not starve running work, a storm of timers does not starve new work, and
//! instances started by instances do not starve those that clients start. Cancels come first, so
//! that a definition that starts itself cannot grow faster than it is cancelled. Within a class:
//! first in, first out, round robin over definitions. A definition with many slow turns can be
//! skipped until some have finished.

use std::collections::{BTreeMap, VecDeque};

use meantime_core::{DefinitionId, InstanceId};

/// Why an instance is ready; earlier classes are more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Cancels by operators, and of instances whose parent has ended.
    Cancels,
    /// Completions, submissions, signals, edits.
    Events,
    /// Timers that are due.
    Timers,
    /// New instances, by command.
    Starts,
    /// New instances started by others: children, runs of schedules, starts by message. Also work
    /// recovered at a start of the engine, for which no caller waits.
    Spawned,
    /// Instances that yielded.
    Yields,
}

const CLASSES: [Class; 6] =
    [Class::Cancels, Class::Events, Class::Timers, Class::Starts, Class::Spawned, Class::Yields];

/// Which kinds of turns a batch contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mix {
    /// Only turns with waiting clients, or only background turns.
    #[default]
    Plain,
    /// Turns with waiting clients and background turns.
    Mixed,
    /// The same, and more background turns were left for a later batch.
    MixedAndCut,
}

/// What was picked.
#[derive(Debug, Default)]
pub(super) struct Picked {
    pub(super) instances: Vec<InstanceId>,
    pub(super) mix: Mix,
}

/// The set of ready instances.
#[derive(Debug, Default)]
pub(super) struct ReadySet {
    queues: [ClassQueue; 6],
    classes: BTreeMap<InstanceId, Class>,
}

/// One class: a queue per definition, served round robin.
#[derive(Debug, Default)]
struct ClassQueue {
    queues: BTreeMap<DefinitionId, VecDeque<InstanceId>>,
    order: VecDeque<DefinitionId>,
    live: usize,
}

impl ReadySet {
    /// Makes an instance ready; a more urgent class moves it forward.
    pub(super) fn insert(&mut self, id: InstanceId, definition: DefinitionId, class: Class) {
        match self.classes.insert(id, class) {
            Some(before) if before <= class => {
                self.classes.insert(id, before);
                return;
            }
            // The old entry stays in its queue and is skipped when it is reached.
            Some(before) => self.queues[before as usize].live -= 1,
            None => {}
        }
        self.queues[class as usize].push(id, definition);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// How many wait in a class.
    pub(super) fn len(&self, class: Class) -> usize {
        self.queues[class as usize].live
    }

    /// Takes out up to `limit` instances by fair shares: each class gets its share, the rest is
    /// filled in class order, and background classes get at most half their share beside starts.
    /// The class `late` is skipped, and so are definitions for which `waits` is true, except for
    /// cancels and events.
    pub(super) fn pick(
        &mut self,
        limit: usize,
        late: Option<Class>,
        waits: impl Fn(DefinitionId) -> bool,
    ) -> Picked {
        let mut picked = Vec::new();
        let (mut urgent, mut background, mut started) = (false, false, false);
        let share = (limit / CLASSES.len()).max(1);
        for round in [share, limit] {
            for class in CLASSES.into_iter().filter(|class| Some(*class) != late) {
                let is_background = matches!(class, Class::Spawned | Class::Yields);
                // A storm of children would fill every batch, and the client of a start in it would
                // wait for all of its turns.
                let count = match (is_background && started, round == share) {
                    (true, true) => (share / 2).max(1),
                    (true, false) => 0,
                    (false, _) => round,
                };
                let before = picked.len();
                self.pick_from(class, count.min(limit - before), &waits, &mut picked);
                let found = picked.len() > before;
                background |= found && is_background;
                urgent |= found && !is_background;
                started |= found && class == Class::Starts;
            }
        }
        let is_cut = started && self.len(Class::Spawned) + self.len(Class::Yields) > 0;
        let mix = match (urgent && background, is_cut) {
            (false, _) => Mix::Plain,
            (true, false) => Mix::Mixed,
            (true, true) => Mix::MixedAndCut,
        };
        Picked { instances: picked, mix }
    }

    fn pick_from(
        &mut self,
        class: Class,
        count: usize,
        waits: &impl Fn(DefinitionId) -> bool,
        picked: &mut Vec<InstanceId>,
    ) {
        let waits = |definition| class > Class::Events && waits(definition);
        let mut wanted = count;
        while wanted > 0
            && let Some(id) = self.queues[class as usize].pop(waits)
        {
            if self.classes.get(&id) == Some(&class) {
                self.classes.remove(&id);
                self.queues[class as usize].live -= 1;
                picked.push(id);
                wanted -= 1;
            }
        }
    }
}

impl ClassQueue {
    fn push(&mut self, id: InstanceId, definition: DefinitionId) {
        let queue = self.queues.entry(definition).or_default();
        if queue.is_empty() {
            self.order.push_back(definition);
        }
        queue.push_back(id);
        self.live += 1;
    }

    fn pop(&mut self, waits: impl Fn(DefinitionId) -> bool) -> Option<InstanceId> {
        let next = self.order.iter().position(|definition| !waits(*definition))?;
        let definition = self.order.remove(next)?;
        let queue = self.queues.get_mut(&definition)?;
        let id = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&definition);
        } else {
            self.order.push_back(definition);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> InstanceId {
        InstanceId::new(number, 0)
    }

    #[test]
    fn every_class_gets_its_share_and_the_rest_goes_by_order() {
        let mut ready = ReadySet::default();
        for number in 0..100 {
            ready.insert(id(number), DefinitionId(1), Class::Timers);
            ready.insert(id(100 + number), DefinitionId(1), Class::Starts);
        }
        let picked = ready.pick(40, None, nobody).instances;
        let timers = picked.iter().filter(|it| it.order() < 100).count();
        assert_eq!((picked.len(), timers), (40, 34));
    }

    #[test]
    fn what_nobody_waits_for_fills_a_batch_only_when_it_is_alone() {
        let mut ready = ReadySet::default();
        for number in 0..200 {
            ready.insert(id(number), DefinitionId(1), Class::Spawned);
        }
        assert_eq!(ready.pick(60, None, nobody).instances.len(), 60, "alone it takes all");
        ready.insert(id(1_000), DefinitionId(2), Class::Starts);
        let picked = ready.pick(60, None, nobody);
        assert_eq!(picked.mix, Mix::MixedAndCut, "there are more");
        assert_eq!(picked.instances.len(), 6, "a start, and a twelfth of the batch");
    }

    const fn nobody(_: DefinitionId) -> bool {
        false
    }

    #[test]
    fn what_instances_start_leaves_room_for_what_somebody_starts() {
        let mut ready = ReadySet::default();
        for number in 0..1_000 {
            ready.insert(id(number), DefinitionId(1), Class::Spawned);
        }
        for number in 5_000..5_100 {
            ready.insert(id(number), DefinitionId(1), Class::Starts);
        }
        let picked = ready.pick(40, None, nobody);
        assert_eq!(picked.mix, Mix::MixedAndCut);
        let started = picked.instances.iter().filter(|it| it.order() >= 5_000).count();
        assert_eq!(started, 37, "all but a twelfth of the batch");
    }

    #[test]
    fn a_cancel_goes_before_what_its_definition_has_to_do() {
        let mut ready = ReadySet::default();
        for number in 0..1_000 {
            ready.insert(id(number), DefinitionId(1), Class::Events);
            ready.insert(id(2_000 + number), DefinitionId(1), Class::Spawned);
        }
        ready.insert(id(500), DefinitionId(1), Class::Cancels);
        assert_eq!(ready.pick(8, None, nobody).instances[0], id(500));
    }

    #[test]
    fn a_definition_that_is_to_wait_is_passed_over_but_for_its_events() {
        let mut ready = ReadySet::default();
        let (busy, other) = (DefinitionId(1), DefinitionId(2));
        ready.insert(id(1), busy, Class::Yields);
        ready.insert(id(2), busy, Class::Events);
        ready.insert(id(3), other, Class::Yields);
        assert_eq!(ready.pick(10, None, |it| it == busy).instances, [id(2), id(3)]);
        assert_eq!(ready.pick(10, None, nobody).instances, [id(1)]);
    }

    #[test]
    fn a_flood_of_one_definition_does_not_delay_another() {
        let mut ready = ReadySet::default();
        for number in 0..1_000 {
            ready.insert(id(number), DefinitionId(1), Class::Starts);
        }
        ready.insert(id(5_000), DefinitionId(2), Class::Starts);
        assert!(ready.pick(8, None, nobody).instances.contains(&id(5_000)));
    }

    #[test]
    fn an_instance_is_in_the_set_once_and_moves_to_the_more_urgent_class() {
        let mut ready = ReadySet::default();
        ready.insert(id(1), DefinitionId(1), Class::Yields);
        ready.insert(id(1), DefinitionId(1), Class::Events);
        ready.insert(id(1), DefinitionId(1), Class::Yields);
        assert_eq!(ready.len(Class::Events), 1);
        assert_eq!(ready.pick(10, None, nobody).instances, [id(1)]);
        assert!(ready.is_empty() && ready.pick(10, None, nobody).instances.is_empty());
    }
}
