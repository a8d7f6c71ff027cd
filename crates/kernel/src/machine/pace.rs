//! How many turns a batch takes.
//!
//! A batch that begins while another is in flight waits for it, and every turn of a batch waits for
//! the slowest one. So batches are kept short: about five milliseconds, or three times the shortest
//! recent batch if that is more. Batches with background turns beside others are kept to two
//! milliseconds, because a storm of children fills every batch. On a slow disk a commit is
//! expensive however small it is, and small batches would only make more commits.
//!
//! Only nearly full batches are measured: a small batch that took long had another reason.
//!
//! [`TurnWeights`] remembers how many effects turns have, by definition and class, so that a batch
//! can tell before it is computed how much it will write.

use std::collections::BTreeMap;

use meantime_core::DefinitionId;

use super::ready::{Class, Mix};

/// The target duration of a batch where commits are fast.
const TARGET_MS: i64 = 5;

/// The same for a batch with background turns beside others.
const MIXED_TARGET_MS: i64 = 2;

/// The minimum size of a batch, in turns.
const FLOOR: usize = 32;

/// The number of batches for which the shortest one is remembered, at least.
const MEMORY: u32 = 256;

/// The size of batches, adapted to how long they take.
#[derive(Debug)]
pub(super) struct Pace {
    turns: usize,
    most: usize,
    /// The shortest batch of the current period and of the one before.
    least_ms: [Option<i64>; 2],
    seen: u32,
}

impl Pace {
    /// Starts with the maximum.
    pub(super) fn new(most: usize) -> Self {
        Self { turns: most.max(1), most: most.max(1), least_ms: [None; 2], seen: 0 }
    }

    /// The size of the next batch.
    pub(super) const fn turns(&self) -> usize {
        self.turns
    }

    /// Records the size and duration of a batch.
    pub(super) fn saw(&mut self, turns: usize, took_ms: i64, mix: Mix) {
        self.remember(took_ms);
        let least = self.least_ms.iter().flatten().min().copied().unwrap_or_default();
        let target = if mix == Mix::Plain { TARGET_MS } else { MIXED_TARGET_MS };
        let target = target.max(least.saturating_mul(3));
        // A batch that was cut is as full as it may be: it took long because of its turns.
        let is_full = turns * 2 > self.turns || mix == Mix::MixedAndCut;
        if took_ms > target && is_full {
            self.turns = (self.turns / 4 * 3).max(FLOOR.min(self.most));
        } else if took_ms <= target && turns >= self.turns {
            self.turns = (self.turns + self.turns / 8 + 1).min(self.most);
        }
    }

    fn remember(&mut self, took_ms: i64) {
        if self.seen == MEMORY {
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
            pace.saw(turns, took / 1_000, mix);
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
        assert_eq!(settles(20_000, 50, Mix::Mixed), 512);
    }

    #[test]
    fn a_small_batch_that_took_long_says_nothing() {
        let mut pace = Pace::new(512);
        for _ in 0..100 {
            pace.saw(3, 400, Mix::Plain);
            pace.saw(1, 1, Mix::Plain);
        }
        assert_eq!(pace.turns(), 512);
    }

    #[test]
    fn a_batch_that_was_cut_and_took_long_makes_the_next_ones_shorter() {
        let mut pace = Pace::new(512);
        (0..100).for_each(|_| pace.saw(20, 1, Mix::MixedAndCut));
        assert_eq!(pace.turns(), 512);
        (0..100).for_each(|_| pace.saw(20, 4, Mix::MixedAndCut));
        assert_eq!(pace.turns(), FLOOR);
    }

    #[test]
    fn a_limit_below_the_floor_holds() {
        let mut pace = Pace::new(3);
        (0..100).for_each(|_| pace.saw(3, 400, Mix::Plain));
        (0..100).for_each(|_| pace.saw(3, 0, Mix::Plain));
        assert_eq!(pace.turns(), 3);
    }
}
