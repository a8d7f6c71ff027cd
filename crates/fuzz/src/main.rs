//! `meantime-fuzz [TARGET] [--seed S] [--from C] [--cases N]`: runs cases of one target, or of all.
//! `cargo xtask fuzz` calls it until the time is up.
//!
//! Cases run on a stack of the size that threads of the engine have. The number of each case is
//! written to a file before it runs, so that a case that ends the process can be identified.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks")]

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use meantime_fuzz::{TARGETS, Target, case_input, run_case};

/// The default stack size of threads in the standard library.
const THREAD_STACK_BYTES: usize = 2 << 20;

/// Runs generated cases.
#[derive(Debug, Clone, Parser)]
struct FuzzArgs {
    /// One target instead of all.
    target: Option<String>,
    /// The seed of the generated cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first case.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The number of cases.
    #[arg(long, default_value_t = 1_000)]
    cases: u64,
    /// Prints the input of the first case before it runs.
    #[arg(long)]
    show: bool,
    /// The directory in which the last case of each target is recorded.
    #[arg(long, default_value = "target/fuzz")]
    directory: String,
}

fn main() -> ExitCode {
    let arguments = FuzzArgs::parse();
    let targets: Vec<&'static Target> = match &arguments.target {
        None => TARGETS.iter().collect(),
        Some(name) => match Target::find(name) {
            Some(target) => vec![target],
            None => {
                let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                eprintln!("no target `{name}`; there are {}", names.join(", "));
                return ExitCode::FAILURE;
            }
        },
    };
    let mut is_clean = true;
    for target in targets {
        is_clean &= run_target(target, &arguments);
    }
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one target; false if it failed.
fn run_target(target: &'static Target, arguments: &FuzzArgs) -> bool {
    if arguments.show {
        println!("{}", case_input(target, arguments.seed, arguments.from));
    }
    let arguments = arguments.clone();
    let work = move || run_cases(target, &arguments);
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES).spawn(work);
    matches!(thread.map(std::thread::JoinHandle::join), Ok(Ok(true)))
}

fn run_cases(target: &'static Target, arguments: &FuzzArgs) -> bool {
    let directory = Path::new(&arguments.directory);
    let _ = std::fs::create_dir_all(directory);
    let note = directory.join(target.name);
    let seed = arguments.seed;
    for case in arguments.from..arguments.from.saturating_add(arguments.cases) {
        let _ = std::fs::write(&note, format!("{} --seed {seed} --case {case}\n", target.name));
        if let Err(failure) = run_case(target, seed, case) {
            let again = format!("{} --seed {seed} --case {case}", target.name);
            eprintln!("FAILED {again}: {}\n{:.2000}", failure.message, failure.input);
            return false;
        }
    }
    true
}
