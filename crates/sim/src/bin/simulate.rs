//! `cargo xtask sim`: many seeds, or one seed with its story.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks")]

use std::process::ExitCode;

use meantime_kernel::clock::{Clock, SystemClock};
use meantime_sim::simulation::{Bed, Failure, run, setup, sweep, twice};

const HELP: &str = "\
Usage: simulate N [--from SEED]    run N seeds, each twice
       simulate --seed SEED        run one seed and tell its story
       simulate --seed SEED --all  tell all of it
";

/// So many seeds must reach every family of faults, operations and effects, and so many every pair
/// of event and phase.
const FAMILIES: u64 = 1_000;
const PAIRS: u64 = 10_000;

/// How much of a story is shown.
const LINES: usize = 150;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    let is_good = match words[..] {
        ["--seed", seed] => number(seed).map(|seed| one(seed, LINES)),
        ["--seed", seed, "--all"] => number(seed).map(|seed| one(seed, usize::MAX)),
        [count] => number(count).map(|count| many(0, count)),
        [count, "--from", from] => number(count).zip(number(from)).map(|(n, from)| many(from, n)),
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

fn many(from: u64, count: u64) -> bool {
    let begin = SystemClock.now().real;
    let swept = sweep(from, count, &|done| {
        if done.is_multiple_of(1_000) {
            println!("{done} of {count} seeds");
        }
    });
    println!("{}", swept.tally);
    let took = SystemClock.now().real.saturating_since(begin).max(1);
    let turns = 2 * swept.tally.turns * 1_000 / took.unsigned_abs();
    println!("{} seeds, each twice, in {took} ms: {turns} turns a second", swept.seeds);
    for failure in &swept.failures {
        tell(failure);
    }
    let mut missing = if count < FAMILIES { Vec::new() } else { swept.tally.missing() };
    if count >= PAIRS {
        missing.extend(swept.tally.missing_pairs());
    }
    if swept.failures.is_empty() && !missing.is_empty() {
        println!("\nnever happened: {}", missing.join(", "));
        return false;
    }
    swept.failures.is_empty()
}

fn tell(failure: &Failure) {
    println!("\nseed {} broke a promise:", failure.seed);
    failure.violations.iter().take(10).for_each(|violation| println!("  {violation}"));
    println!("replay: cargo xtask sim --seed {}", failure.seed);
}

fn one(seed: u64, lines: usize) -> bool {
    let setup = setup(seed);
    println!("{setup:#?}");
    let outcome = run(&setup, Bed::memory(setup.nodes), true);
    let from = outcome.story.len().saturating_sub(lines);
    outcome.story.iter().skip(from).for_each(|line| println!("{line}"));
    let outcome = twice(&setup);
    println!("{}\nhash {:016x}", outcome.tally, outcome.hash);
    for violation in &outcome.violations {
        println!("{violation}");
    }
    outcome.violations.is_empty()
}
