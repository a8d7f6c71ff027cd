//! Bugs that are planted in the kernel are found by the simulator within a thousand seeds each.
//!
//! A generator that cannot reach a bug proves nothing by finding none.

use std::collections::BTreeSet;

use meantime_kernel::planted::{Bug, plant};
use meantime_sim::simulation::{Bed, run, setup};

const SEEDS: u64 = 1_000;

/// A bug, and which seed found it by which checkers.
type Hunted = (Bug, Option<(u64, BTreeSet<&'static str>)>);

fn hunt(bug: Bug) -> Hunted {
    plant(Some(bug));
    let found = (0..SEEDS).find_map(|seed| {
        let setup = setup(seed);
        let outcome = run(&setup, Bed::memory(setup.nodes), false);
        let audit: BTreeSet<&str> = outcome.violations.iter().map(|it| it.checker).collect();
        (!audit.is_empty()).then_some((seed, audit))
    });
    plant(None);
    (bug, found)
}

#[test]
fn every_planted_bug_is_found() {
    let (even, odd) = (Bug::ALL.iter().step_by(2), Bug::ALL.iter().skip(1).step_by(2));
    let hunted: Vec<Hunted> = std::thread::scope(|scope| {
        let other = scope.spawn(move || odd.map(|bug| hunt(*bug)).collect::<Vec<_>>());
        let mut all: Vec<Hunted> = even.map(|bug| hunt(*bug)).collect();
        all.extend(other.join().expect("the hunt ends"));
        all
    });
    let missed: Vec<Bug> =
        hunted.iter().filter(|(_, found)| found.is_none()).map(|(bug, _)| *bug).collect();
    assert_eq!(missed, [], "not found within {SEEDS} seeds; the others: {hunted:?}");
}

#[test]
fn nothing_is_found_where_nothing_is_planted() {
    for seed in 0..30 {
        let setup = setup(seed);
        assert_eq!(run(&setup, Bed::memory(setup.nodes), false).violations, [], "seed {seed}");
    }
}
