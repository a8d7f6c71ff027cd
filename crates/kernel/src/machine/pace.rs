//! How many turns a batch takes.
//!
//! A batch that begins while another is in flight waits for it, and every turn of a batch waits for
//! the slowest one. So batches are kept short: about five milliseconds, or three times the shortest
//! recent batch if that is more. Batches with background turns beside others are kept to two
//! milliseconds, because a storm of children fills every batch. On a slow disk a commit is
//! expensive however small it is, and small batches would only make more commits.
//!
//! Only nearly full batches are measured: a small batch that took long had another reason.

use super::ready::Mix;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The size that is reached if a batch has these fixed and per-turn costs, in microseconds, and
    /// there is always more work.
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
