//! Runs a private PostgreSQL cluster for tests: prints its address and ends with its input.
//!
//! `cargo xtask test` keeps one of these for all test processes.

#![expect(clippy::print_stdout, reason = "the address is for whoever started it")]

use std::io::Read;
use std::process::ExitCode;

use meantime_store::postgres::cluster::{Cluster, Durability};

fn main() -> ExitCode {
    match Cluster::start(Durability::None) {
        Ok(cluster) => {
            println!("{}", cluster.address());
            // Whoever started it closes this when the tests are over, or ends itself.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!();
            println!("{problem}");
            ExitCode::FAILURE
        }
    }
}
