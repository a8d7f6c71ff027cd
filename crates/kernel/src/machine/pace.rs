//! How many turns a batch takes, and how much of it is background work.
//!
//! A batch that begins while another is in flight waits for it, and every turn of a batch waits for
//! the slowest one. So batches are kept short: about five milliseconds, or three times the shortest
//! of the recent small batches if that is more. On a slow disk a commit is expensive however small
//! it is, and small batches would only make more commits.
//!
//! While starts come in, batches with background turns are kept to a millisecond, because a storm
//! of children fills every batch: first the room for background turns shrinks, then the batch.
//! After a batch that left background turns waiting, the others of them rest for as long as it
//! took. Without that a storm would use all processors, and a start would wait for them before the
//! engine even knows of it. A storm that lasts rests for longer: its rows also cost checkpoints and
//! cache, which no single batch shows.
//!
//! Only nearly full batches are measured: a small batch that took long had another reason.
//!
//! [`TurnWeights`] remembers how many effects turns have, by definition and class, so that a batch
//! can tell before it is computed how much it will write.

use std::collections::BTreeMap;

use meantime_core::{DefinitionId, Timestamp};

use super::ready::{Class, Mix};

/// The target duration of a batch where commits are fast.
const TARGET_MS: i64 = 5;

/// The same for a batch with background turns beside others.
const MIXED_TARGET_MS: i64 = 1;

/// The least room for background turns beside starts, in effects of each class: a commit takes
/// about ten microseconds for an effect.
const MIN_BACKGROUND_EFFECTS: usize = 12;

/// Background turns rest for so long at most, in milliseconds.
pub(super) const REST_MS: i64 = 20;

/// From which age on a storm rests for how many times as long as its batches took, oldest first.
const RESTS_BY_AGE_MS: [(i64, i64); 3] = [(1_000, 4), (250, 2), (0, 1)];

/// Batches that leave background turns waiting belong to one storm if no more than this lies
/// between them, in milliseconds.
const STORM_GAP_MS: i64 = 200;

/// The minimum size of a batch, in turns.
const MIN_TURNS_PER_BATCH: usize = 32;

/// The least and the most effects that a batch commits, unless a single turn has more.
const MIN_EFFECTS_PER_BATCH: usize = 64;
const MAX_EFFECTS_PER_BATCH: usize = 512;

/// The number of small batches for which the shortest one is remembered, at least.
const SMALL_BATCHES_REMEMBERED: u32 = 256;

/// How many turns a batch had, and how many effects.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchSize {
    pub(super) turns: usize,
    pub(super) effects: usize,
}

/// The size of batches, adapted to how long they take.
#[derive(Debug)]
pub(super) struct Pace {
    turns: usize,
    most: usize,
    effects: usize,
    /// The room for background turns beside starts, in effects of each class.
    background: usize,
    /// In real time: until then background turns rest, while starts come in.
    rests_until: Option<Timestamp>,
    /// The first and the last batch of the current storm.
    storm: Option<(Timestamp, Timestamp)>,
    /// The shortest small batch of the current period and of the one before.
    least_ms: [Option<i64>; 2],
    seen: u32,
}

impl Pace {
    /// Starts with the maximum.
    pub(super) fn new(most: usize) -> Self {
        let (turns, background) = (most.max(1), MIN_BACKGROUND_EFFECTS);
        let (rests_until, storm, least_ms) = (None, None, [None; 2]);
        let effects = MAX_EFFECTS_PER_BATCH;
        Self { turns, most: turns, effects, background, rests_until, storm, least_ms, seen: 0 }
    }

    /// The size of the next batch.
    pub(super) const fn turns(&self) -> usize {
        self.turns
    }

    /// How many effects the next batch commits, unless a single turn has more.
    pub(super) const fn effects(&self) -> usize {
        self.effects
    }

    /// The room that the next batch has for background turns beside starts: so many effects of each
    /// class.
    pub(super) const fn background(&self) -> usize {
        self.background
    }

    /// Until when background turns rest beside starts, in real time.
    pub(super) const fn rests_until(&self) -> Option<Timestamp> {
        self.rests_until
    }

    /// Records the size and duration of a batch that ends now.
    pub(super) fn saw(&mut self, size: BatchSize, took_ms: i64, mix: Mix, now: Timestamp) {
        if mix == Mix::MixedAndCut {
            let rest = took_ms.saturating_mul(self.rests(now)).clamp(0, REST_MS);
            self.rests_until = (rest > 0).then(|| now.saturating_add_millis(rest));
        }
        // Larger ones would make every delay look normal in a storm that lasts.
        if size.turns <= MIN_TURNS_PER_BATCH && size.effects <= MIN_EFFECTS_PER_BATCH {
            self.remember(took_ms);
        }
        let least = self.least_ms.iter().flatten().min().copied().unwrap_or_default();
        let target = match mix {
            Mix::Plain => TARGET_MS.max(least.saturating_mul(3)),
            Mix::Mixed | Mix::MixedAndCut => MIXED_TARGET_MS.max(least.saturating_mul(2)),
        };
        let took_long = took_ms > target;
        if mix == Mix::MixedAndCut {
            // It had as many background turns as there was room for.
            let before = self.background;
            self.background = if took_long {
                (before / 4 * 3).max(MIN_BACKGROUND_EFFECTS)
            } else {
                (before + before / 8).min(MAX_EFFECTS_PER_BATCH)
            };
            if took_long && before > MIN_BACKGROUND_EFFECTS {
                return;
            }
        }
        if took_long && size.turns * 2 > self.turns {
            self.turns = (self.turns / 4 * 3).max(MIN_TURNS_PER_BATCH.min(self.most));
        } else if !took_long && size.turns >= self.turns {
            self.turns = (self.turns + self.turns / 8 + 1).min(self.most);
        }
        // The last turn that fits may leave much of the room.
        if took_long && size.effects * 2 > self.effects {
            self.effects = (self.effects / 4 * 3).max(MIN_EFFECTS_PER_BATCH);
        } else if !took_long && size.effects * 2 > self.effects {
            self.effects = (self.effects + self.effects / 8).min(MAX_EFFECTS_PER_BATCH);
        }
    }

    /// How many times as long as it took the rest after a batch of a storm is.
    fn rests(&mut self, now: Timestamp) -> i64 {
        // A clock that went back begins a new storm.
        let goes_on = |last: Timestamp| (0..=STORM_GAP_MS).contains(&now.saturating_since(last));
        let since = match self.storm {
            Some((since, last)) if goes_on(last) => since,
            _ => now,
        };
        self.storm = Some((since, now));
        let age = now.saturating_since(since);
        RESTS_BY_AGE_MS.iter().find(|(from, _)| age >= *from).map_or(1, |(_, times)| *times)
    }

    fn remember(&mut self, took_ms: i64) {
        if self.seen == SMALL_BATCHES_REMEMBERED {
            self.least_ms = [None, self.least_ms[0]];
            self.seen = 0;
        }
        self.seen += 1;
        let least = self.least_ms[0].get_or_insert(took_ms);
        *least = took_ms.min(*least);
    }
}

/// How many effects turns of each definition and class had lately: a script may begin with a timer
/// and start hundreds of children when it fires.
#[derive(Debug, Default)]
pub(super) struct TurnWeights {
    /// Averages, in sixteenths of an effect; only of those that have several.
    averages: BTreeMap<(DefinitionId, Class), usize>,
}

impl TurnWeights {
    /// A turn had so many effects.
    pub(super) fn saw(&mut self, definition: DefinitionId, class: Class, effects: usize) {
        let before = self.averages.get(&(definition, class)).copied().unwrap_or(16);
        let average = (before * 3 + effects * 16).div_ceil(4);
        if average > 32 {
            self.averages.insert((definition, class), average);
        } else if before > 32 {
            self.averages.remove(&(definition, class));
        }
    }

    /// How many the next one is expected to have.
    pub(super) fn effects(&self, definition: DefinitionId, class: Class) -> usize {
        self.averages.get(&(definition, class)).map_or(1, |average| average.div_ceil(16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn light(turns: usize) -> BatchSize {
        BatchSize { turns, effects: 0 }
    }

    #[test]
    fn weights_are_averages_by_definition_and_class_and_light_ones_are_forgotten() {
        let one = DefinitionId(1);
        let mut weights = TurnWeights::default();
        for _ in 0..8 {
            weights.saw(one, Class::Timers, 400);
            weights.saw(one, Class::Spawned, 1);
        }
        let heavy = weights.effects(one, Class::Timers);
        assert!((350..=400).contains(&heavy), "{heavy}");
        assert_eq!(weights.effects(one, Class::Spawned), 1);
        assert_eq!(weights.averages.len(), 1);
        (0..40).for_each(|_| weights.saw(one, Class::Timers, 1));
        assert!(weights.averages.is_empty());
    }

    /// What is reached when a batch costs so much by itself and so much for each turn, in
    /// microseconds, and there is always more to do.
    fn settles(commit: i64, turn: i64, mix: Mix) -> usize {
        let mut pace = Pace::new(512);
        // Every hundredth batch is small, as in an engine that is idle at times.
        for batch in 0..2_000 {
            let turns = if batch % 100 == 0 { 1 } else { pace.turns() };
            let took = commit + turn * i64::try_from(turns).unwrap_or_default();
            pace.saw(light(turns), took / 1_000, mix, Timestamp::default());
        }
        pace.turns()
    }

    #[test]
    fn cheap_turns_are_taken_by_the_hundred_and_costly_ones_in_small_batches() {
        assert_eq!(settles(300, 5, Mix::Plain), 512);
        let costly = settles(300, 100, Mix::Plain);
        assert!((32..=70).contains(&costly), "{costly}");
    }

    #[test]
    fn batches_that_hold_what_nobody_waits_for_are_shorter() {
        let (mixed, plain) = (settles(300, 50, Mix::Mixed), settles(300, 50, Mix::Plain));
        assert!(mixed * 3 < plain * 2, "{mixed} {plain}");
    }

    #[test]
    fn on_a_slow_disk_batches_stay_large() {
        assert_eq!(settles(40_000, 50, Mix::Mixed), 512);
    }

    #[test]
    fn heavy_turns_are_committed_in_small_batches() {
        let mut pace = Pace::new(512);
        let now = Timestamp::default();
        for _ in 0..200 {
            let size = BatchSize { turns: 8, effects: pace.effects() };
            let took = 1 + i64::try_from(pace.effects()).unwrap_or_default() / 40;
            pace.saw(size, took, Mix::Plain, now);
        }
        assert!((120..=240).contains(&pace.effects()), "5 ms of them: {}", pace.effects());
        assert_eq!(pace.turns(), 512);
        (0..20).for_each(|_| pace.saw(light(8), 40, Mix::Plain, now));
        assert!(pace.effects() >= 120, "light batches say nothing");
        for _ in 0..200 {
            pace.saw(BatchSize { turns: 8, effects: pace.effects() }, 1, Mix::Plain, now);
        }
        assert_eq!(pace.effects(), MAX_EFFECTS_PER_BATCH);
    }

    #[test]
    fn a_small_batch_that_took_long_says_nothing() {
        let mut pace = Pace::new(512);
        for _ in 0..100 {
            pace.saw(light(3), 400, Mix::Plain, Timestamp::default());
            pace.saw(light(1), 1, Mix::Plain, Timestamp::default());
        }
        assert_eq!(pace.turns(), 512);
    }

    #[test]
    fn beside_starts_background_turns_get_what_fits_into_the_time() {
        let mut pace = Pace::new(512);
        assert_eq!(pace.background(), MIN_BACKGROUND_EFFECTS);
        (0..100).for_each(|_| pace.saw(light(20), 1, Mix::MixedAndCut, Timestamp::default()));
        assert_eq!(pace.background(), MAX_EFFECTS_PER_BATCH, "there is time");
        (0..100).for_each(|_| pace.saw(light(20), 1, Mix::Mixed, Timestamp::default()));
        assert_eq!(pace.background(), MAX_EFFECTS_PER_BATCH, "it was not used up");
        pace.saw(light(20), 0, Mix::Plain, Timestamp::default());
        (0..100).for_each(|_| pace.saw(light(20), 4, Mix::MixedAndCut, Timestamp::default()));
        assert_eq!((pace.background(), pace.turns()), (MIN_BACKGROUND_EFFECTS, 512));
        (0..100)
            .for_each(|_| pace.saw(light(pace.turns()), 4, Mix::MixedAndCut, Timestamp::default()));
        assert_eq!(pace.turns(), MIN_TURNS_PER_BATCH, "the starts themselves take long");
    }

    #[test]
    fn after_a_batch_that_left_background_turns_the_others_rest_for_as_long_as_it_took() {
        let mut pace = Pace::new(512);
        let now = Timestamp::default();
        pace.saw(light(20), 3, Mix::Mixed, now);
        assert_eq!(pace.rests_until(), None);
        pace.saw(light(20), 3, Mix::MixedAndCut, now);
        assert_eq!(pace.rests_until(), Some(now.saturating_add_millis(3)));
        pace.saw(light(20), 900, Mix::MixedAndCut, now);
        assert_eq!(pace.rests_until(), Some(now.saturating_add_millis(REST_MS)));
        pace.saw(light(20), 0, Mix::MixedAndCut, now);
        assert_eq!(pace.rests_until(), None);
    }

    #[test]
    fn a_storm_that_lasts_rests_for_longer() {
        let mut pace = Pace::new(512);
        let at = |ms| Timestamp::default().saturating_add_millis(ms);
        let mut rest = |ms| {
            pace.saw(light(20), 3, Mix::MixedAndCut, at(ms));
            pace.rests_until().map(|until| until.saturating_since(at(ms)))
        };
        assert_eq!(rest(0), Some(3));
        assert_eq!((100..=300).step_by(100).filter_map(&mut rest).last(), Some(6));
        assert_eq!((400..=1_100).step_by(100).filter_map(&mut rest).last(), Some(12));
        assert_eq!(rest(1_100 + STORM_GAP_MS + 1), Some(3), "another storm");
        assert_eq!(rest(0), Some(3), "the clock went back");
    }

    #[test]
    fn on_a_slow_disk_background_turns_beside_starts_get_all_the_room() {
        let mut pace = Pace::new(512);
        (0..100).for_each(|_| pace.saw(light(20), 25, Mix::MixedAndCut, Timestamp::default()));
        assert_eq!(pace.background(), MAX_EFFECTS_PER_BATCH);
    }

    #[test]
    fn a_limit_below_the_floor_holds() {
        let mut pace = Pace::new(3);
        (0..100).for_each(|_| pace.saw(light(3), 400, Mix::Plain, Timestamp::default()));
        (0..100).for_each(|_| pace.saw(light(3), 0, Mix::Plain, Timestamp::default()));
        assert_eq!(pace.turns(), 3);
    }
}
