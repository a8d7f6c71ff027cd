//! Runs many seeds on as many threads as there are cores; every seed twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::coverage_counts::CoverageCounts;
use super::randomness::Randomness;
use super::run::{SeedOutcome, run_seed};
use super::setup::SeedSetup;
use super::store_fixture::StoreFixture;
use crate::checker::Violation;

/// The results of many seeds.
#[derive(Debug, Default)]
pub struct SweepReport {
    /// Seeds that were run.
    pub seeds: u64,
    /// The counts of all of them.
    pub counts: CoverageCounts,
    /// Seeds with violations, smallest first.
    pub failures: Vec<FailedSeed>,
}

/// A seed with violations.
#[derive(Debug, Clone)]
pub struct FailedSeed {
    /// The seed.
    pub seed: u64,
    /// The violations.
    pub violations: Vec<Violation>,
}

/// The sweep stops after this many failures.
const MAX_FAILED_SEEDS: usize = 5;

/// The setup of a seed, as `sim --seed` replays it.
pub fn seed_setup(seed: u64) -> SeedSetup {
    SeedSetup::from_seed(seed, &mut Randomness::new(seed))
}

/// Runs one seed twice on new in-memory stores: both runs must have the same history.
pub fn run_seed_twice(setup: &SeedSetup) -> SeedOutcome {
    let mut first = run_seed(setup, StoreFixture::in_memory(setup.nodes), false);
    let second = run_seed(setup, StoreFixture::in_memory(setup.nodes), false);
    if first.hash != second.hash {
        let text = format!(
            "hash {:016x} and then {:016x}; the first difference is in commit {}",
            first.hash,
            second.hash,
            first_differing_commit(&first.hashes, &second.hashes),
        );
        let checker = "finally_the_same_seed_gives_the_same_history";
        first.violations.push(Violation { checker, instance: None, text });
    }
    first
}

/// The number of the first commit after which two histories differ.
pub fn first_differing_commit(one: &[u64], other: &[u64]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Runs seeds `from..from + count`. `progress` is called after every seed.
pub fn sweep_seeds(from: u64, count: u64, progress: &(dyn Fn(u64) + Sync)) -> SweepReport {
    let next = AtomicU64::new(0);
    let report = Mutex::new(SweepReport::default());
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
                    let outcome = run_seed_twice(&seed_setup(seed));
                    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                    report.seeds += 1;
                    report.counts.merge(&outcome.counts);
                    if !outcome.violations.is_empty() {
                        let violations = outcome.violations;
                        report.failures.push(FailedSeed { seed, violations });
                    }
                    if report.failures.len() >= MAX_FAILED_SEEDS {
                        next.store(count, Ordering::Relaxed);
                    }
                    progress(report.seeds);
                }
            });
        }
    });
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.failures.sort_by_key(|failure| failure.seed);
    report
}
