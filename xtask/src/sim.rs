//! `sim`: many seeds of the simulator, or one seed with its log.

use anyhow::Result;

use crate::shell::cargo_run;

/// Runs an optimised build of the simulator with the given arguments.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let build = ["run", "--quiet", "--release", "-p", "meantime-sim", "--bin", "simulate", "--"];
    let args = build.into_iter().chain(args.iter().map(String::as_str));
    cargo_run(&args.collect::<Vec<_>>())
}
