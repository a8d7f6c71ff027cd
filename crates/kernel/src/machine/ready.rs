//! Which instance gets the next turn: a set keyed by instance, in classes with fair shares.
//!
//! Every class with ready instances gets at least a seventh of a batch, the rest is filled in class
//! order. So new work does not starve running work, a storm of timers does not starve new work, and
//! instances started by instances do not starve those that clients start. Cancels come first, so
//! that a definition that starts itself cannot grow faster than it is cancelled. Within a class:
//! first in, first out, round robin over definitions. A definition with many slow turns can be
//! skipped until some have finished.
//!
//! A caller who starts an instance waits for the whole batch. So beside starts, the classes that no
//! caller waits for (deliveries, timers, children, yields) get at most their share of turns, half
//! of it beside few starts, and [`BACKGROUND_EFFECTS`] each. How many effects a turn will have is
//! guessed from the last turns of its definition and class.

use std::collections::{BTreeMap, VecDeque};

use meantime_core::{DefinitionId, InstanceId};

use super::slow::EFFECTS_PER_BATCH;

/// Why an instance is ready; earlier is more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Cancels by operators, and of instances whose parent has ended.
    Cancels,
    /// Completions, submissions, signals, edits; whatever comes for an instance that a caller waits
    /// for.
    Events,
    /// What other instances or an earlier process left in the inbox: ends of children, messages.
    Deliveries,
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

const CLASSES: [Class; 7] = [
    Class::Cancels,
    Class::Events,
    Class::Deliveries,
    Class::Timers,
    Class::Starts,
    Class::Spawned,
    Class::Yields,
];

/// Beside starts, turns of a class that no caller waits for bring so many effects into a batch, or
/// one turn: a commit takes about ten microseconds for each.
const BACKGROUND_EFFECTS: usize = 12;

impl Class {
    /// Whether no caller waits for its turns.
    const fn is_background(self) -> bool {
        matches!(self, Self::Deliveries | Self::Timers | Self::Spawned | Self::Yields)
    }

    /// Whether they are something new, that nobody has waited for yet.
    const fn is_new(self) -> bool {
        matches!(self, Self::Spawned | Self::Yields)
    }
}

/// What a batch takes.
pub(super) struct PickRules<'a> {
    /// So many instances at most.
    pub(super) limit: usize,
    /// A class that has to wait.
    pub(super) late: Option<Class>,
    /// Definitions that have to wait, but for their cancels and events.
    pub(super) waits: &'a dyn Fn(DefinitionId) -> bool,
    /// How many effects a turn of a definition and class is expected to have.
    pub(super) weight: &'a dyn Fn(DefinitionId, Class) -> usize,
}

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
    pub(super) instances: Vec<(InstanceId, Class)>,
    pub(super) mix: Mix,
}

/// The set of ready instances.
#[derive(Debug, Default)]
pub(super) struct ReadySet {
    queues: [ClassQueue; CLASSES.len()],
    classes: BTreeMap<InstanceId, Class>,
}

/// One class: a queue per definition, served round robin.
#[derive(Debug, Default)]
struct ClassQueue {
    queues: BTreeMap<DefinitionId, VecDeque<InstanceId>>,
    order: VecDeque<DefinitionId>,
    live: usize,
}

/// How many effects a batch can still take: in all, and of each class beside starts.
struct Room {
    batch: usize,
    classes: [usize; CLASSES.len()],
}

impl Room {
    /// Whether a class may have another turn. Cancels and what callers wait for always may: if that
    /// is too much, the heaviest turns follow in the next batch.
    fn has_some(&self, class: Class, is_limited: bool) -> bool {
        !class.is_background()
            || self.batch > 0 && (!is_limited || self.classes[class as usize] > 0)
    }

    fn take(&mut self, class: Class, effects: usize) {
        for room in [&mut self.batch, &mut self.classes[class as usize]] {
            *room = room.saturating_sub(effects.max(1));
        }
    }
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

    /// How many of a definition wait in a class, about: some may have moved to another one.
    pub(super) fn len_of(&self, class: Class, definition: DefinitionId) -> usize {
        self.queues[class as usize].queues.get(&definition).map_or(0, VecDeque::len)
    }

    /// How many wait in a class.
    pub(super) fn len(&self, class: Class) -> usize {
        self.queues[class as usize].live
    }

    /// Takes out instances by fair shares: each class gets its share, the rest goes by their order.
    /// Beside starts, a class that no caller waits for gets as many turns as there are starts, at
    /// least half its share and at most all of it: a few starts do not wait for a storm, and many
    /// do not hold up what they have begun.
    pub(super) fn pick(&mut self, rules: &PickRules<'_>) -> Picked {
        let mut instances = Vec::new();
        let starts = self.len(Class::Starts);
        let has_starts = starts > 0;
        // Many starts begin much that goes on, and that must keep up with them.
        let classes = [BACKGROUND_EFFECTS.max(starts.min(rules.limit)); CLASSES.len()];
        let mut room = Room { batch: EFFECTS_PER_BATCH, classes };
        let share = (rules.limit / CLASSES.len()).max(1);
        let (mut urgent, mut background) = (false, false);
        for round in [share, rules.limit] {
            for class in CLASSES.into_iter().filter(|class| Some(*class) != rules.late) {
                let is_limited = has_starts && class.is_background();
                let count = match (is_limited, round == share) {
                    (false, _) => round,
                    (true, true) => starts.clamp((share / 2).max(1), share),
                    (true, false) => 0,
                };
                let count = count.min(rules.limit - instances.len());
                let before = instances.len();
                self.pick_from(class, count, rules, (&mut room, is_limited), &mut instances);
                let found = instances.len() > before;
                // Without starts, what goes on is as urgent as anything.
                let is_background = class.is_background() && (has_starts || class.is_new());
                background |= found && is_background;
                urgent |= found && !is_background;
            }
        }
        let left = |class: Class| class.is_background() && self.len(class) > 0;
        let is_cut = has_starts && CLASSES.into_iter().any(left);
        let mix = match (urgent && background, is_cut) {
            (false, _) => Mix::Plain,
            (true, false) => Mix::Mixed,
            (true, true) => Mix::MixedAndCut,
        };
        Picked { instances, mix }
    }

    /// Takes up to `count` instances of a class, as long as there is room for their effects.
    fn pick_from(
        &mut self,
        class: Class,
        count: usize,
        rules: &PickRules<'_>,
        (room, is_limited): (&mut Room, bool),
        picked: &mut Vec<(InstanceId, Class)>,
    ) {
        let waits = |definition| class > Class::Events && (rules.waits)(definition);
        let mut wanted = count;
        while wanted > 0
            && room.has_some(class, is_limited)
            && let Some((id, definition)) = self.queues[class as usize].pop(waits)
        {
            if self.classes.get(&id) == Some(&class) {
                self.classes.remove(&id);
                self.queues[class as usize].live -= 1;
                picked.push((id, class));
                wanted -= 1;
                room.take(class, (rules.weight)(definition, class));
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

    fn pop(&mut self, waits: impl Fn(DefinitionId) -> bool) -> Option<(InstanceId, DefinitionId)> {
        let next = self.order.iter().position(|definition| !waits(*definition))?;
        let definition = self.order.remove(next)?;
        let queue = self.queues.get_mut(&definition)?;
        let id = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&definition);
        } else {
            self.order.push_back(definition);
        }
        Some((id?, definition))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> InstanceId {
        InstanceId::new(number, 0)
    }

    fn rules(limit: usize) -> PickRules<'static> {
        PickRules { limit, late: None, waits: &|_| false, weight: &|_, _| 1 }
    }

    fn pick(ready: &mut ReadySet, limit: usize) -> Picked {
        ready.pick(&rules(limit))
    }

    fn ids(picked: &Picked) -> Vec<InstanceId> {
        picked.instances.iter().map(|(id, _)| *id).collect()
    }

    #[test]
    fn every_class_gets_its_share_and_the_rest_goes_by_order() {
        let mut ready = ReadySet::default();
        for number in 0..100 {
            ready.insert(id(number), DefinitionId(1), Class::Events);
            ready.insert(id(100 + number), DefinitionId(1), Class::Starts);
        }
        let picked = ids(&pick(&mut ready, 40));
        let events = picked.iter().filter(|it| it.order() < 100).count();
        assert_eq!((picked.len(), events), (40, 35));
    }

    #[test]
    fn beside_starts_a_storm_of_timers_gets_its_share_and_no_more() {
        let mut ready = ReadySet::default();
        for number in 0..100 {
            ready.insert(id(number), DefinitionId(1), Class::Timers);
            ready.insert(id(100 + number), DefinitionId(1), Class::Starts);
        }
        let picked = ids(&pick(&mut ready, 40));
        let timers = picked.iter().filter(|it| it.order() < 100).count();
        assert_eq!((picked.len(), timers), (40, 5));
        assert_eq!(pick(&mut ready, 80).instances.len(), 76, "65 starts, and a share of timers");
        assert_eq!(pick(&mut ready, 80).instances.len(), 80, "alone they fill the batch");
    }

    #[test]
    fn what_nobody_waits_for_fills_a_batch_only_when_it_is_alone() {
        let mut ready = ReadySet::default();
        for number in 0..200 {
            ready.insert(id(number), DefinitionId(1), Class::Spawned);
        }
        assert_eq!(pick(&mut ready, 60).instances.len(), 60, "alone it takes all");
        ready.insert(id(1_000), DefinitionId(2), Class::Starts);
        let picked = pick(&mut ready, 60);
        assert_eq!(picked.mix, Mix::MixedAndCut, "there are more");
        assert_eq!(picked.instances.len(), 5, "a start, and half a share");
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
        let picked = pick(&mut ready, 40);
        assert_eq!(picked.mix, Mix::MixedAndCut);
        let started = ids(&picked).iter().filter(|it| it.order() >= 5_000).count();
        assert_eq!(started, 35, "all but the share of the others");
    }

    #[test]
    fn beside_starts_timers_with_many_effects_are_few() {
        let mut ready = ReadySet::default();
        (0..1_000).for_each(|number| ready.insert(id(number), DefinitionId(1), Class::Timers));
        let start = |ready: &mut ReadySet, number: u64| {
            ready.insert(id(2_000 + number), DefinitionId(2), Class::Starts);
        };
        let heavy = PickRules { weight: &|_, _| 5, ..rules(60) };
        let timers = |picked: &Picked| ids(picked).iter().filter(|it| it.order() < 2_000).count();
        start(&mut ready, 0);
        assert_eq!(timers(&ready.pick(&heavy)), 3, "12 effects and a bit");
        let huge = PickRules { weight: &|_, _| 10_000, ..rules(60) };
        start(&mut ready, 1);
        assert_eq!(timers(&ready.pick(&huge)), 1, "one is always taken");
        (0..30).for_each(|number| start(&mut ready, number));
        assert_eq!(timers(&ready.pick(&heavy)), 6, "as many effects as there are starts");
    }

    #[test]
    fn a_batch_takes_no_more_turns_than_it_can_commit_effects() {
        let mut ready = ReadySet::default();
        (0..1_000).for_each(|number| ready.insert(id(number), DefinitionId(1), Class::Timers));
        let heavy = PickRules { weight: &|_, _| 100, ..rules(400) };
        assert_eq!(ready.pick(&heavy).instances.len(), 6, "512 effects and a bit");
        ready.insert(id(2_000), DefinitionId(2), Class::Events);
        assert!(ids(&ready.pick(&heavy)).contains(&id(2_000)));
    }

    #[test]
    fn a_cancel_goes_before_what_its_definition_has_to_do() {
        let mut ready = ReadySet::default();
        for number in 0..1_000 {
            ready.insert(id(number), DefinitionId(1), Class::Events);
            ready.insert(id(2_000 + number), DefinitionId(1), Class::Spawned);
        }
        ready.insert(id(500), DefinitionId(1), Class::Cancels);
        assert_eq!(ids(&pick(&mut ready, 8))[0], id(500));
    }

    #[test]
    fn a_definition_that_is_to_wait_is_passed_over_but_for_its_events() {
        let mut ready = ReadySet::default();
        let (busy, other) = (DefinitionId(1), DefinitionId(2));
        ready.insert(id(1), busy, Class::Yields);
        ready.insert(id(2), busy, Class::Events);
        ready.insert(id(3), other, Class::Yields);
        let picked = ready.pick(&PickRules { waits: &|it| it == busy, ..rules(10) });
        assert_eq!(ids(&picked), [id(2), id(3)]);
        assert_eq!(ids(&pick(&mut ready, 10)), [id(1)]);
    }

    #[test]
    fn a_flood_of_one_definition_does_not_delay_another() {
        let mut ready = ReadySet::default();
        for number in 0..1_000 {
            ready.insert(id(number), DefinitionId(1), Class::Starts);
        }
        ready.insert(id(5_000), DefinitionId(2), Class::Starts);
        assert!(ids(&pick(&mut ready, 8)).contains(&id(5_000)));
    }

    #[test]
    fn an_instance_is_in_the_set_once_and_moves_to_the_more_urgent_class() {
        let mut ready = ReadySet::default();
        ready.insert(id(1), DefinitionId(1), Class::Yields);
        ready.insert(id(1), DefinitionId(1), Class::Events);
        ready.insert(id(1), DefinitionId(1), Class::Yields);
        assert_eq!(ready.len(Class::Events), 1);
        assert_eq!(ids(&pick(&mut ready, 10)), [id(1)]);
        assert!(ready.is_empty() && pick(&mut ready, 10).instances.is_empty());
    }
}
