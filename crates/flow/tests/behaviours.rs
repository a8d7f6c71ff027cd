//! The behaviours of flow scripts in `tests/corpus`, played on the in-memory store.
//!
//! `UPDATE_EXPECT=1` rewrites the traces. `crates/sim/tests/scenarios.rs` plays the same files on
//! the other stores and with crashes.

use std::path::Path;

use libtest_mimic::{Arguments, Trial};
use meantime_sim::scenario::Scenario;

fn main() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let behaviours = Scenario::all_in(&directory).expect("the behaviours can be read");
    let trials = behaviours
        .into_iter()
        .map(|(name, scenario)| Trial::test(name, move || Ok(scenario.check()?)))
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
