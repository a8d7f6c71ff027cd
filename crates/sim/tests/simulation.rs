//! A thousand seeds of the simulator, and the same history on every store.

use std::sync::Arc;

use meantime_kernel::store::Store;
use meantime_sim::harness::block_on;
use meantime_sim::simulation::{SeedOutcome, StoreFixture, run_seed, seed_setup, sweep_seeds};
use meantime_store::postgres::{Options, PostgresStore, cluster};
use meantime_store::sqlite::SqliteStore;

#[test]
fn a_thousand_seeds_break_no_promise() {
    let report = sweep_seeds(0, 1_000, &|_| {});
    let told: Vec<String> = report
        .failures
        .iter()
        .map(|it| format!("cargo xtask sim --seed {}: {:?}", it.seed, it.violations.first()))
        .collect();
    assert_eq!(told, [] as [String; 0]);
    assert_eq!(report.counts.missing_families(), [] as [String; 0], "never happened");
}

/// A test that gets a new store.
type OnStore<'a> = dyn Fn(Arc<dyn Store>) + 'a;

/// With one process and serial calls, a seed gives the same history on every store.
fn same_history(seeds: impl Iterator<Item = u64>, on_store: &dyn Fn(&OnStore<'_>)) {
    for seed in seeds {
        let setup = seed_setup(seed).for_comparison();
        let in_memory = run_seed(&setup, StoreFixture::in_memory(1), true);
        on_store(&|store| {
            let other = run_seed(&setup, StoreFixture::exclusive(store), true);
            assert_eq!(other.violations, [], "seed {seed}");
            assert_eq!(in_memory.hash, other.hash, "seed {seed}{}", difference(&in_memory, &other));
        });
    }
}

/// Where two logs begin to differ, each with the lines before.
fn difference(one: &SeedOutcome, other: &SeedOutcome) -> String {
    let same = one.log.iter().zip(&other.log).take_while(|(one, other)| one == other).count();
    let told = |it: &SeedOutcome| {
        let lines: Vec<&str> =
            it.log.iter().skip(same.saturating_sub(5)).take(8).map(String::as_str).collect();
        lines.join("\n  ")
    };
    format!(", in memory:\n  {}\non the other store:\n  {}", told(one), told(other))
}

#[test]
fn a_seed_gives_the_same_history_on_sqlite() {
    same_history(0..40, &|run| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let options = meantime_store::sqlite::Options::default();
        let store = SqliteStore::open(directory.path().join("meantime.db"), options);
        run(Arc::new(store.expect("a new store")));
    });
}

#[test]
fn a_seed_gives_the_same_history_on_postgres() {
    same_history(0..20, &|run| {
        let database = cluster::database().expect("PostgreSQL");
        let options = Options { shared: false, ..database.options() };
        let store = block_on(PostgresStore::open(options)).expect("a new store");
        run(Arc::new(store));
    });
}
