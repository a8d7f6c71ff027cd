//! Runs a private PostgreSQL cluster for tests: prints its address and stops when its input ends.
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
            // The parent closes this pipe when the tests have ended, or by ending itself.
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
