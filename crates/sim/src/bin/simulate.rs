//! `cargo xtask sim`: many seeds, or one seed with its log.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks")]

use std::process::ExitCode;

use meantime_kernel::clock::{Clock, SystemClock};
use meantime_sim::simulation::{
    FailedSeed, StoreFixture, run_seed, run_seed_twice, seed_setup, sweep_seeds,
};

const HELP: &str = "\
Usage: simulate N [--from SEED]    run N seeds, each twice
       simulate --seed SEED        run one seed and print its log
       simulate --seed SEED --all  print the whole log
";

/// The number of seeds that must cover every family of faults, operations and effects, and the
/// number that must cover every pair of event and phase.
const SEEDS_FOR_ALL_FAMILIES: u64 = 1_000;
const SEEDS_FOR_ALL_PAIRS: u64 = 10_000;

/// How many lines of a log are shown.
const MAX_LOG_LINES: usize = 150;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    let is_good = match words[..] {
        ["--seed", seed] => number(seed).map(|seed| run_one(seed, MAX_LOG_LINES)),
        ["--seed", seed, "--all"] => number(seed).map(|seed| run_one(seed, usize::MAX)),
        [count] => number(count).map(|count| run_many(0, count)),
        [count, "--from", from] => {
            number(count).zip(number(from)).map(|(n, from)| run_many(from, n))
        }
        _ => None,
    };
    match is_good {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::FAILURE,
        None => {
            eprint!("{HELP}");
            ExitCode::FAILURE
        }
    }
}

fn run_many(from: u64, count: u64) -> bool {
    let begin = SystemClock.now().real;
    let report = sweep_seeds(from, count, &|done| {
        if done.is_multiple_of(1_000) {
            println!("{done} of {count} seeds");
        }
    });
    println!("{}", report.counts);
    let took = SystemClock.now().real.saturating_since(begin).max(1);
    let turns = 2 * report.counts.turns * 1_000 / took.unsigned_abs();
    println!("{} seeds, each twice, in {took} ms: {turns} turns a second", report.seeds);
    for failure in &report.failures {
        print_failure(failure);
    }
    let mut missing =
        if count < SEEDS_FOR_ALL_FAMILIES { Vec::new() } else { report.counts.missing_families() };
    if count >= SEEDS_FOR_ALL_PAIRS {
        missing.extend(report.counts.missing_pairs());
    }
    if report.failures.is_empty() && !missing.is_empty() {
        println!("\nnever happened: {}", missing.join(", "));
        return false;
    }
    report.failures.is_empty()
}

fn print_failure(failure: &FailedSeed) {
    println!("\nseed {} broke a promise:", failure.seed);
    failure.violations.iter().take(10).for_each(|violation| println!("  {violation}"));
    println!("replay: cargo xtask sim --seed {}", failure.seed);
}

fn run_one(seed: u64, lines: usize) -> bool {
    let setup = seed_setup(seed);
    println!("{setup:#?}");
    let outcome = run_seed(&setup, StoreFixture::in_memory(setup.nodes), true);
    let from = outcome.log.len().saturating_sub(lines);
    outcome.log.iter().skip(from).for_each(|line| println!("{line}"));
    let outcome = run_seed_twice(&setup);
    println!("{}\nhash {:016x}", outcome.counts, outcome.hash);
    for violation in &outcome.violations {
        println!("{violation}");
    }
    outcome.violations.is_empty()
}
