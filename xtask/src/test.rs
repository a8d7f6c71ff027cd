//! `test`: the whole check, for contributors and the build machine.
//!
//! It needs a Rust toolchain, Python, Node, Chromium and PostgreSQL, and starts a private
//! PostgreSQL cluster. It uses cargo-nextest if it is installed.

use anyhow::Result;

use crate::check;
use crate::console;
use crate::deny;
use crate::postgres::Cluster;
use crate::schemathesis;
use crate::sdk;
use crate::shell::{cargo_run_with, has_cargo_command};
use crate::step::{Options, Step, run_all};

/// The tests come last, so that their summary is at the end of the log.
const STEPS: &[Step] =
    &[Step { name: "documentation examples", run: doctests }, Step { name: "tests", run: tests }];

pub(crate) fn run(filters: &[String]) -> Result<()> {
    run_all(
        &[check::STEPS, deny::STEPS, sdk::STEPS, schemathesis::STEPS, console::STEPS, STEPS],
        &Options { filters: filters.to_vec() },
    )
}

fn tests(options: &Options) -> Result<()> {
    let cluster = Cluster::start()?;
    let variable = cluster.as_ref().map(Cluster::variable);
    if has_cargo_command("nextest") {
        let mut args = vec!["nextest", "run", "--workspace"];
        args.extend(options.filters.iter().map(String::as_str));
        return cargo_run_with(&args, variable);
    }
    // `--tests` leaves the documentation examples to their own step.
    each_filter(&["test", "--workspace", "--tests"], options, variable)
}

fn doctests(options: &Options) -> Result<()> {
    each_filter(&["test", "--doc", "--workspace"], options, None)
}

/// Some test harnesses take a single filter only, so each filter is a run of its own.
fn each_filter(command: &[&str], options: &Options, variable: Option<(&str, &str)>) -> Result<()> {
    if options.filters.is_empty() {
        return cargo_run_with(command, variable);
    }
    for filter in &options.filters {
        let mut args = command.to_vec();
        args.push(filter);
        cargo_run_with(&args, variable)?;
    }
    Ok(())
}
