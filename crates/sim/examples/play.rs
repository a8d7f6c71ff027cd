//! Plays one scenario on the in-memory store and prints its trace.
//!
//! `cargo run -p meantime-sim --example play crates/sim/scenarios/FILE.md [COMMIT]` — with a
//! number, the process crashes after that commit.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::path::Path;
use std::sync::Arc;

use meantime_kernel::store::MemoryStore;
use meantime_sim::scenario::{Scenario, play};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        println!("usage: play FILE [COMMIT]");
        return;
    };
    let crash_after = arguments.next().and_then(|commit| commit.parse().ok());
    match Scenario::read(Path::new(&path)) {
        Ok(scenario) => {
            let played = play(&scenario, Arc::new(MemoryStore::new()), crash_after);
            println!("{}({} commits)", played.trace, played.commits);
        }
        Err(error) => println!("{path}: {error}"),
    }
}
