//! Which instance gets the next turn: a set keyed by instance, in classes with fair shares.
//!
//! Every class with ready instances gets at least a seventh of a batch; the rest is filled in class
//! order. So new work does not starve running work, due timers do not starve new work, and children
//! do not starve starts by clients. Cancels come first, so that a definition that starts itself
//! cannot grow faster than it is cancelled. Within a class: first in, first out, round robin over
//! definitions. A definition with many slow turns can be skipped until some have finished.
//!
//! No caller waits for turns of the background classes (deliveries, timers, children, yields). But
//! a caller that starts an instance waits for the whole batch, and for the ones before it. So while
//! starts or cancels arrive, each background class has room for a limited number of effects per
//! batch, even if a batch happens to contain no start. The number of effects of a turn is predicted
//! from the last turns of its definition and class. If a turn needs more than the remaining room,
//! the excess is a debt of its definition, which is skipped until later batches have paid it. A
//! definition with a few light turns in a class is exempt, because it does not cause the delay.

use std::collections::{BTreeMap, VecDeque};

use meantime_core::{DefinitionId, InstanceId, Timestamp};

/// Why an instance is ready; earlier is more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Cancels by operators, and of instances whose parent has ended.
    Cancels,
    /// Completions, submissions, signals, edits; and everything that arrives for an instance with a
    /// waiting caller.
    Events,
    /// Inbox rows from other instances or an earlier process: ends of children, messages.
    Deliveries,
    /// Timers that are due.
    Timers,
    /// New instances, by command.
    Starts,
    /// New instances without a caller: children, runs of schedules, starts by message. Also work
    /// that was recovered when the engine started.
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

/// How long after a start further starts are expected, in milliseconds.
const STARTS_EXPECTED_MS: i64 = 20;

/// A definition is light in a class if it has at most this many ready instances there, and their
/// turns have at most this many effects each.
const FEW_TURNS: usize = 4;
const LIGHT_EFFECTS: usize = 4;

/// How many turns of light definitions a batch takes per class in addition to the room of the
/// class, and how many definitions are examined for them: there may be thousands.
const FEW_TURNS_IN_ALL: usize = 16;
const FEW_TURNS_LOOKED_AT: usize = 64;

impl Class {
    /// Whether no caller waits for its turns.
    const fn is_background(self) -> bool {
        matches!(self, Self::Deliveries | Self::Timers | Self::Spawned | Self::Yields)
    }

    /// Whether its turns begin new work. Without starts it is as urgent as the other classes.
    const fn is_new(self) -> bool {
        matches!(self, Self::Spawned | Self::Yields)
    }
}

/// What a batch takes.
pub(super) struct PickRules<'a> {
    pub(super) now: Timestamp,
    /// The largest number of instances.
    pub(super) limit: usize,
    /// The largest number of effects, unless a single turn has more.
    pub(super) effects: usize,
    /// A class that is left out of this batch.
    pub(super) late: Option<Class>,
    /// Definitions that are left out, except for their cancels and events.
    pub(super) waits: &'a dyn Fn(DefinitionId) -> bool,
    /// The room of each background class while starts arrive, in effects; `None` if background
    /// classes pause.
    pub(super) background: Option<usize>,
    /// How many effects a turn of a definition and class is expected to have.
    pub(super) weight: &'a dyn Fn(DefinitionId, Class) -> usize,
}

/// Which kinds of turns a batch contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mix {
    /// Only turns with waiting clients; or only background turns, and no starts are expected.
    #[default]
    Plain,
    /// Background turns, and turns with waiting clients or none while starts are expected.
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
    recent: RecentStarts,
}

/// The starts of the last batches.
#[derive(Debug, Default)]
struct RecentStarts {
    /// When the last start or cancel was seen.
    last: Option<Timestamp>,
    /// How many a batch had on average, in sixteenths.
    average: usize,
}

impl RecentStarts {
    /// A batch begins while this many starts and cancels wait. Returns whether more of them are
    /// expected. Cancels count, so that background turns do not delay the cancels that end them.
    fn saw(&mut self, starts: usize, cancels: usize, now: Timestamp) -> bool {
        if starts + cancels > 0 {
            self.last = Some(now);
        }
        // A clock that went back says nothing.
        let is_recent = |last| (0..=STARTS_EXPECTED_MS).contains(&now.saturating_since(last));
        let expected = self.last.is_some_and(is_recent);
        self.average = if expected { (self.average * 7 + starts * 16).div_ceil(8) } else { 0 };
        expected
    }
}

/// One class: a queue per definition, served round robin.
#[derive(Debug, Default)]
struct ClassQueue {
    queues: BTreeMap<DefinitionId, VecDeque<InstanceId>>,
    order: VecDeque<DefinitionId>,
    live: usize,
    /// Effects of definitions beyond the room that there was for them.
    debts: BTreeMap<DefinitionId, usize>,
}

/// How many effects a batch can still take: in all, and of each class while starts come in.
struct Room {
    batch: usize,
    classes: Option<[usize; CLASSES.len()]>,
    /// Whether some of the room of a class was taken.
    has_background: bool,
}

impl Room {
    /// Whether a class may have another turn. Cancels and what callers wait for always may: if that
    /// is too much, the heaviest turns follow in the next batch.
    fn has_some(&self, class: Class) -> bool {
        !class.is_background()
            || self.batch > 0 && self.classes.is_none_or(|rooms| rooms[class as usize] > 0)
    }

    /// Takes the room for a turn; returns by how much it was too small for its class.
    fn take(&mut self, class: Class, effects: usize) -> usize {
        let effects = effects.max(1);
        self.batch = self.batch.saturating_sub(effects);
        let Some(rooms) = self.classes.as_mut().filter(|_| class.is_background()) else { return 0 };
        self.has_background = true;
        let room = &mut rooms[class as usize];
        let missing = effects.saturating_sub(*room);
        *room = room.saturating_sub(effects);
        missing
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
    /// While starts come in, a class that no caller waits for takes of its share and of the rest
    /// only what its room allows, and of the rest after the others. Its room is at least as many
    /// effects as batches have starts on average: many starts begin much that goes on, and that
    /// must keep up with them. (Starts that wait do not count: what delays them would grow by it.)
    pub(super) fn pick(&mut self, rules: &PickRules<'_>) -> Picked {
        let (starts, cancels) = (self.len(Class::Starts), self.len(Class::Cancels));
        let beside_starts = self.recent.saw(starts, cancels, rules.now);
        let starts = (self.recent.average / 16).min(rules.limit);
        let background = rules.background.map_or(0, |room| room.max(starts));
        if beside_starts {
            self.queues.iter_mut().for_each(|queue| queue.pay(background));
        } else {
            self.queues.iter_mut().for_each(|queue| queue.debts.clear());
        }
        let classes = beside_starts.then_some([background; CLASSES.len()]);
        let mut room = Room { batch: rules.effects, classes, has_background: false };
        let mut instances = Vec::new();
        if beside_starts {
            self.pick_few(rules, &mut instances);
        }
        self.pick_rounds(rules, &mut room, &mut instances);
        if instances.is_empty() && beside_starts && rules.background.is_some() {
            // Only definitions with debts are ready. Waiting would pay nothing: time does not, and
            // nothing else may come.
            self.queues.iter_mut().for_each(|queue| queue.debts.clear());
            self.pick_rounds(rules, &mut room, &mut instances);
        }
        // Without starts, what goes on is as urgent as anything.
        let is_new = |(_, class): &(InstanceId, Class)| class.is_new();
        let has_background = room.has_background || instances.iter().any(is_new) && !beside_starts;
        let has_urgent = beside_starts || !instances.iter().all(is_new);
        let left = |class: Class| class.is_background() && self.len(class) > 0;
        let is_cut = beside_starts && CLASSES.into_iter().any(left);
        let mix = match (has_background && has_urgent, is_cut) {
            (false, _) => Mix::Plain,
            (true, false) => Mix::Mixed,
            (true, true) => Mix::MixedAndCut,
        };
        Picked { instances, mix }
    }

    /// The turns of light definitions in the background classes.
    fn pick_few(&mut self, rules: &PickRules<'_>, picked: &mut Vec<(InstanceId, Class)>) {
        for class in CLASSES.into_iter().filter(|class| class.is_background()) {
            if Some(class) == rules.late {
                continue;
            }
            let queue = &mut self.queues[class as usize];
            let is_light = |it| (rules.weight)(it, class) <= LIGHT_EFFECTS && !(rules.waits)(it);
            let mut left = FEW_TURNS_IN_ALL;
            for definition in queue.with_few(is_light) {
                while left > 0
                    && picked.len() < rules.limit
                    && let Some(id) = queue.pop_of(definition)
                {
                    if self.classes.get(&id) == Some(&class) {
                        self.classes.remove(&id);
                        queue.live -= 1;
                        picked.push((id, class));
                        left -= 1;
                    }
                }
            }
        }
    }

    /// The share of each class, then the rest in the order of the classes, then background classes
    /// that may only fill up the batch.
    fn pick_rounds(
        &mut self,
        rules: &PickRules<'_>,
        room: &mut Room,
        picked: &mut Vec<(InstanceId, Class)>,
    ) {
        let share = (rules.limit / CLASSES.len()).max(1);
        // Also of the effects: a few heavy turns of one class must not take the room of the others.
        let effects = (rules.effects / CLASSES.len()).max(1);
        let beside_starts = room.classes.is_some();
        let fills_up = |class: Class| beside_starts && class.is_background();
        let classes = || CLASSES.into_iter().filter(|class| Some(*class) != rules.late);
        let rounds = classes()
            .map(|class| (class, share, effects))
            .chain(classes().filter(|it| !fills_up(*it)).map(|it| (it, rules.limit, usize::MAX)))
            .chain(classes().filter(|it| fills_up(*it)).map(|it| (it, rules.limit, usize::MAX)));
        for (class, count, effects) in rounds {
            let count = count.min(rules.limit - picked.len());
            self.pick_from(class, (count, effects), rules, room, picked);
        }
    }

    /// Takes up to `count` instances of a class, and up to so many effects or one turn, as long as
    /// there is room for them.
    fn pick_from(
        &mut self,
        class: Class,
        (count, effects): (usize, usize),
        rules: &PickRules<'_>,
        room: &mut Room,
        picked: &mut Vec<(InstanceId, Class)>,
    ) {
        let waits = |definition| class > Class::Events && (rules.waits)(definition);
        let queue = &mut self.queues[class as usize];
        let (mut wanted, mut left) = (count, effects);
        while wanted > 0
            && left > 0
            && room.has_some(class)
            && let Some((id, definition)) = queue.pop(waits)
        {
            if self.classes.get(&id) == Some(&class) {
                self.classes.remove(&id);
                queue.live -= 1;
                picked.push((id, class));
                wanted -= 1;
                let effects = (rules.weight)(definition, class);
                left = left.saturating_sub(effects);
                let missing = room.take(class, effects);
                queue.owes(definition, missing);
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

    /// A definition took more room than there was.
    fn owes(&mut self, definition: DefinitionId, effects: usize) {
        if effects > 0 {
            *self.debts.entry(definition).or_default() += effects;
        }
    }

    /// Pays so many effects of the debts, in equal parts. A debt that is paid holds up one more
    /// batch, the one whose room has paid it.
    fn pay(&mut self, effects: usize) {
        let part = effects.checked_div(self.debts.len()).unwrap_or_default().max(1);
        self.debts.retain(|_, debt| {
            let is_owed = *debt > 0;
            *debt = debt.saturating_sub(part);
            is_owed
        });
    }

    /// Definitions with few ready instances that owe nothing; only the first ones are looked at.
    fn with_few(&self, is_light: impl Fn(DefinitionId) -> bool) -> Vec<DefinitionId> {
        let has_few = |it: &DefinitionId| {
            self.queues.get(it).is_some_and(|queue| queue.len() <= FEW_TURNS)
                && !self.debts.contains_key(it)
                && is_light(*it)
        };
        self.order.iter().take(FEW_TURNS_LOOKED_AT).copied().filter(has_few).collect()
    }

    /// The next instance of a definition.
    fn pop_of(&mut self, definition: DefinitionId) -> Option<InstanceId> {
        let queue = self.queues.get_mut(&definition)?;
        let id = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&definition);
            self.order.retain(|it| *it != definition);
        }
        id
    }

    fn pop(&mut self, waits: impl Fn(DefinitionId) -> bool) -> Option<(InstanceId, DefinitionId)> {
        let may = |it: &DefinitionId| !waits(*it) && !self.debts.contains_key(it);
        let next = self.order.iter().position(may)?;
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
    use super::super::test_id::id;
    use super::*;

    fn rules(limit: usize) -> PickRules<'static> {
        PickRules {
            now: Timestamp::default(),
            limit,
            effects: 512,
            late: None,
            waits: &|_| false,
            background: Some(12),
            weight: &|_, _| 1,
        }
    }

    fn pick(ready: &mut ReadySet, limit: usize) -> Picked {
        ready.pick(&rules(limit))
    }

    /// When no starts are expected any more.
    fn pick_later(ready: &mut ReadySet, limit: usize) -> Picked {
        let now = Timestamp::default().saturating_add_millis(STARTS_EXPECTED_MS + 1);
        ready.pick(&PickRules { now, ..rules(limit) })
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
        let picked = ids(&pick(&mut ready, 120));
        let timers = picked.iter().filter(|it| it.order() < 100).count();
        assert_eq!((picked.len(), timers), (84, 19), "as many as batches have starts");
        assert_eq!(pick(&mut ready, 60).instances.len(), 16, "more starts are expected");
        assert_eq!(pick_later(&mut ready, 60).instances.len(), 60, "alone they fill the batch");
    }

    #[test]
    fn background_turns_fill_a_batch_only_without_starts() {
        let mut ready = ReadySet::default();
        for number in 0..200 {
            ready.insert(id(number), DefinitionId(1), Class::Spawned);
        }
        assert_eq!(pick(&mut ready, 60).instances.len(), 60, "alone it takes all");
        ready.insert(id(1_000), DefinitionId(2), Class::Starts);
        let picked = pick(&mut ready, 60);
        assert_eq!(picked.mix, Mix::MixedAndCut, "there are more");
        assert_eq!(picked.instances.len(), 13, "a start, and what there is room for");
        let picked = pick(&mut ready, 60);
        assert_eq!((picked.instances.len(), picked.mix), (12, Mix::MixedAndCut), "one may come");
        let picked = pick_later(&mut ready, 60);
        assert_eq!((picked.instances.len(), picked.mix), (60, Mix::Plain));
    }

    #[test]
    fn children_leave_room_for_starts_by_callers() {
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
        let huge = PickRules { weight: &|_, _| 60, ..rules(60) };
        start(&mut ready, 1);
        assert_eq!(timers(&ready.pick(&huge)), 0, "three were too many");
        start(&mut ready, 2);
        assert_eq!(timers(&ready.pick(&huge)), 1, "one is always taken");
        for number in 3..7 {
            start(&mut ready, number);
            assert_eq!(timers(&ready.pick(&huge)), 0, "its debt is paid by 12 each time");
        }
        start(&mut ready, 7);
        assert_eq!(timers(&ready.pick(&huge)), 1);
        assert_eq!(timers(&ready.pick(&huge)), 1, "a debt alone holds up nothing");
    }

    #[test]
    fn a_heavy_definition_does_not_delay_the_timers_of_a_light_one() {
        let mut ready = ReadySet::default();
        let (heavy, light) = (DefinitionId(1), DefinitionId(2));
        (0..1_000).for_each(|number| ready.insert(id(number), heavy, Class::Timers));
        let weight = |it: DefinitionId, _: Class| if it == heavy { 64 } else { 1 };
        for number in 0..100 {
            ready.insert(id(2_000 + number), light, Class::Timers);
            ready.insert(id(3_000 + number), light, Class::Starts);
            let picked = ids(&ready.pick(&PickRules { weight: &weight, ..rules(60) }));
            assert!(picked.contains(&id(2_000 + number)));
            assert_eq!(ready.len_of(Class::Timers, light), 0);
        }
        let taken = 1_000 - ready.len_of(Class::Timers, heavy);
        assert!((16..=20).contains(&taken), "12 effects of each batch on average: {taken}");
    }

    #[test]
    fn a_storm_does_not_delay_those_who_cancel_it() {
        let mut ready = ReadySet::default();
        (0..1_000).for_each(|number| ready.insert(id(number), DefinitionId(1), Class::Yields));
        let heavy = PickRules { weight: &|_, _| 64, ..rules(400) };
        for number in 0..20 {
            ready.insert(id(number), DefinitionId(1), Class::Cancels);
        }
        let picked = ready.pick(&heavy).instances;
        assert_eq!(picked.len(), 21, "all cancels, and one turn of the storm");
        assert_eq!(ready.pick(&heavy).instances.len(), 1, "a debt alone holds up nothing");
    }

    #[test]
    fn a_definition_with_little_to_do_does_not_rest_with_a_storm() {
        let mut ready = ReadySet::default();
        let (storm, light) = (DefinitionId(1), DefinitionId(2));
        (0..100).for_each(|number| ready.insert(id(number), storm, Class::Timers));
        (200..204).for_each(|number| ready.insert(id(number), light, Class::Timers));
        ready.insert(id(300), light, Class::Starts);
        let resting = PickRules { background: None, ..rules(60) };
        let picked = ready.pick(&resting);
        assert_eq!(ids(&picked), [200, 201, 202, 203, 300].map(id));
        assert_eq!(picked.mix, Mix::Plain, "the storm goes on resting for no longer");
        // Five are many, and heavy ones are not light however few they are.
        (400..405).for_each(|number| ready.insert(id(number), light, Class::Timers));
        assert_eq!(ready.pick(&resting).instances.len(), 0);
        ready.insert(id(500), DefinitionId(3), Class::Timers);
        let heavy = PickRules { weight: &|_, _| 5, ..resting };
        assert_eq!(ready.pick(&heavy).instances.len(), 0);
        // Many definitions with little to do are a storm, too.
        let mut ready = ReadySet::default();
        (0..100).for_each(|it| ready.insert(id(it), DefinitionId(it), Class::Timers));
        ready.insert(id(300), light, Class::Starts);
        assert_eq!(ready.pick(&PickRules { background: None, ..rules(60) }).instances.len(), 17);
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
    fn heavy_turns_of_one_class_leave_room_for_another() {
        let mut ready = ReadySet::default();
        for number in 0..1_000 {
            ready.insert(id(number), DefinitionId(1), Class::Deliveries);
        }
        ready.insert(id(2_000), DefinitionId(2), Class::Timers);
        let heavy = PickRules { weight: &|_, _| 63, ..rules(400) };
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
