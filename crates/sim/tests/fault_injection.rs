//! The simulator finds every bug that is injected into the kernel within a thousand seeds.
//!
//! A generator that cannot reach a known bug proves nothing when it finds none.

use std::collections::BTreeSet;

use meantime_kernel::fault_injection::{InjectedBug, inject};
use meantime_sim::simulation::{StoreFixture, run_seed, seed_setup};

const SEEDS: u64 = 1_000;

/// A bug, with the seed and the checkers that found it.
type SearchResult = (InjectedBug, Option<(u64, BTreeSet<&'static str>)>);

fn search_seeds(bug: InjectedBug) -> SearchResult {
    inject(Some(bug));
    let found = (0..SEEDS).find_map(|seed| {
        let setup = seed_setup(seed);
        let outcome = run_seed(&setup, StoreFixture::in_memory(setup.nodes), false);
        let audit: BTreeSet<&str> = outcome.violations.iter().map(|it| it.checker).collect();
        (!audit.is_empty()).then_some((seed, audit))
    });
    inject(None);
    (bug, found)
}

#[test]
fn every_injected_bug_is_found() {
    let (even, odd) =
        (InjectedBug::ALL.iter().step_by(2), InjectedBug::ALL.iter().skip(1).step_by(2));
    let results: Vec<SearchResult> = std::thread::scope(|scope| {
        let other = scope.spawn(move || odd.map(|bug| search_seeds(*bug)).collect::<Vec<_>>());
        let mut all: Vec<SearchResult> = even.map(|bug| search_seeds(*bug)).collect();
        all.extend(other.join().expect("the hunt ends"));
        all
    });
    let missed: Vec<InjectedBug> =
        results.iter().filter(|(_, found)| found.is_none()).map(|(bug, _)| *bug).collect();
    assert_eq!(missed, [], "not found within {SEEDS} seeds; the others: {results:?}");
}

#[test]
fn nothing_is_found_without_an_injected_bug() {
    for seed in 0..30 {
        let setup = seed_setup(seed);
        assert_eq!(
            run_seed(&setup, StoreFixture::in_memory(setup.nodes), false).violations,
            [],
            "seed {seed}"
        );
    }
}
