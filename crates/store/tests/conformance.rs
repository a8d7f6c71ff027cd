//! Runs the conformance suite on every store: one test per case and store.

use libtest_mimic::{Arguments, Trial};
use meantime_kernel::store::{MemoryStore, Store};
use meantime_store::conformance::{Case, block_on, cases};
use meantime_store::postgres::{self, PostgresStore, cluster};
use meantime_store::sqlite::{Options, SqliteStore};

fn main() {
    let arguments = Arguments::from_args();
    let trials = cases().into_iter().flat_map(|case| {
        [
            trial("memory", case, |case| case.run(&MemoryStore::new())),
            trial("sqlite", case, |case| {
                let directory = tempfile::tempdir().expect("a directory for the test");
                let path = directory.path().join("store.db");
                let store = SqliteStore::open(path, Options::default()).expect("it opens");
                case.run(&store);
                let problems = block_on(store.check()).expect("it can be checked");
                let damage = |line: &String| !line.starts_with("in_");
                assert!(!problems.iter().any(damage), "{problems:?}");
            }),
            trial("postgres", case, |case| {
                let database = cluster::database().expect("PostgreSQL");
                let options = postgres::Options { shared: false, ..database.options() };
                let store = block_on(PostgresStore::open(options)).expect("it opens");
                case.run(&store);
                let problems = block_on(store.check()).expect("it can be checked");
                let damage = |line: &String| !line.starts_with("in_");
                assert!(!problems.iter().any(damage), "{problems:?}");
            }),
        ]
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn trial(store: &'static str, case: Case, run: fn(Case)) -> Trial {
    let name = format!("{store}::{}::{}", case.entity, case.name);
    Trial::test(name, move || {
        run(case);
        Ok(())
    })
}
