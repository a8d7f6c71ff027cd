//! Bugs that are planted in the kernel are found by the simulator within a thousand seeds each.
//!
//! A generator that cannot reach a bug proves nothing by finding none.

use std::collections::BTreeSet;

use meantime_kernel::planted::{Bug, plant};
use meantime_sim::simulation::{Bed, run, setup};

const SEEDS: u64 = 1_000;

/// Seeds until a bug was found, and the checkers that found it.
fn hunt(bug: Bug) -> Option<(u64, BTreeSet<&'static str>)> {
    plant(Some(bug));
    let found = (0..SEEDS).find_map(|seed| {
        let setup = setup(seed);
        let outcome = run(&setup, Bed::memory(setup.nodes), false);
        let by: BTreeSet<&str> = outcome.violations.iter().map(|it| it.checker).collect();
        (!by.is_empty()).then_some((seed + 1, by))
    });
    plant(None);
    found
}

#[test]
fn every_planted_bug_is_found() {
    let hunted: Vec<(Bug, Option<(u64, BTreeSet<&str>)>)> = std::thread::scope(|scope| {
        let (even, odd) = (Bug::ALL.iter().step_by(2), Bug::ALL.iter().skip(1).step_by(2));
        let hunt_all = |bugs: Vec<Bug>| bugs.into_iter().map(|bug| (bug, hunt(bug))).collect();
        let bugs: Vec<Bug> = odd.copied().collect();
        let other = scope.spawn(move || -> Vec<_> { hunt_all(bugs) });
        let mut all: Vec<_> = hunt_all(even.copied().collect());
        all.extend(other.join().expect("the hunt ends"));
        all
    });
    let mut missed = Vec::new();
    for (bug, found) in hunted {
        match found {
            Some((seeds, by)) => println!("{bug:?}: found after {seeds} seeds by {by:?}"),
            None => missed.push(bug),
        }
    }
    assert_eq!(missed, [], "not found within {SEEDS} seeds");
}

#[test]
fn nothing_is_found_where_nothing_is_planted() {
    for seed in 0..30 {
        let setup = setup(seed);
        assert_eq!(run(&setup, Bed::memory(setup.nodes), false).violations, [], "seed {seed}");
    }
}
