//! `test`: the whole check, as a newcomer and the build machine run it.
//!
//! It needs a Rust toolchain, Python and Node; cargo-nextest is used when it is there. A further
//! environment (a private database, a browser) is one more function and one more line in `STEPS`.

use anyhow::Result;

use crate::check;
use crate::sdk;
use crate::shell::{cargo_run, has_cargo_command};
use crate::step::{Options, Step, run_all};

/// The tests come last, so that their summary is what a reader of the log sees.
const STEPS: &[Step] =
    &[Step { name: "documentation examples", run: doctests }, Step { name: "tests", run: tests }];

pub(crate) fn run(filters: &[String]) -> Result<()> {
    run_all(&[check::STEPS, sdk::STEPS, STEPS], &Options { filters: filters.to_vec() })
}

fn tests(options: &Options) -> Result<()> {
    if has_cargo_command("nextest") {
        let mut args = vec!["nextest", "run", "--workspace"];
        args.extend(options.filters.iter().map(String::as_str));
        return cargo_run(&args);
    }
    // `--tests` leaves the documentation examples to their own step.
    each_filter(&["test", "--workspace", "--tests"], options)
}

fn doctests(options: &Options) -> Result<()> {
    each_filter(&["test", "--doc", "--workspace"], options)
}

/// Some test harnesses take a single filter only, so several filters are several runs.
fn each_filter(command: &[&str], options: &Options) -> Result<()> {
    if options.filters.is_empty() {
        return cargo_run(command);
    }
    for filter in &options.filters {
        let mut args = command.to_vec();
        args.push(filter);
        cargo_run(&args)?;
    }
    Ok(())
}
