//! Many seeds, on as many threads as there are cores; every seed twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::bed::Bed;
use super::chance::Chance;
use super::run::{Outcome, run};
use super::setup::Setup;
use super::tally::Tally;
use crate::checker::Violation;

/// What came out of many seeds.
#[derive(Debug, Default)]
pub struct Swept {
    /// Seeds that were run.
    pub seeds: u64,
    /// What happened in all of them.
    pub tally: Tally,
    /// Seeds that broke a promise, smallest first.
    pub failures: Vec<Failure>,
}

/// A seed that broke a promise.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What was broken.
    pub violations: Vec<Violation>,
}

/// How many failures are enough to stop.
const ENOUGH: usize = 5;

/// The setup of a seed, as `sim --seed` replays it.
pub fn setup(seed: u64) -> Setup {
    Setup::of(seed, &mut Chance::new(seed))
}

/// Runs one seed twice on fresh stores in memory: the second time must be like the first.
pub fn twice(setup: &Setup) -> Outcome {
    let mut first = run(setup, Bed::memory(setup.nodes), false);
    let second = run(setup, Bed::memory(setup.nodes), false);
    if first.hash != second.hash {
        let text = format!(
            "hash {:016x} and then {:016x}; the first difference is in commit {}",
            first.hash,
            second.hash,
            first_difference(&first.hashes, &second.hashes),
        );
        let checker = "finally_the_same_seed_gives_the_same_history";
        first.violations.push(Violation { checker, instance: None, text });
    }
    first
}

/// The number of the first commit after which two histories differ.
pub fn first_difference(one: &[u64], other: &[u64]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Runs seeds `from..from + count`. `progress` hears of every seed that is done.
pub fn sweep(from: u64, count: u64, progress: &(dyn Fn(u64) + Sync)) -> Swept {
    let next = AtomicU64::new(0);
    let swept = Mutex::new(Swept::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let seed = from.wrapping_add(number);
                    let outcome = twice(&setup(seed));
                    let mut swept = swept.lock().unwrap_or_else(PoisonError::into_inner);
                    swept.seeds += 1;
                    swept.tally.add(&outcome.tally);
                    if !outcome.violations.is_empty() {
                        let violations = outcome.violations;
                        swept.failures.push(Failure { seed, violations });
                    }
                    if swept.failures.len() >= ENOUGH {
                        next.store(count, Ordering::Relaxed);
                    }
                    progress(swept.seeds);
                }
            });
        }
    });
    let mut swept = swept.into_inner().unwrap_or_else(PoisonError::into_inner);
    swept.failures.sort_by_key(|failure| failure.seed);
    swept
}
