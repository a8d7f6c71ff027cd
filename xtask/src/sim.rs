//! `sim`: many seeds of the simulator, or one seed with its story.

use anyhow::Result;

use crate::shell::cargo_run;

/// Runs the simulator, built for speed, with the arguments as they are.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let build = ["run", "--quiet", "--release", "-p", "meantime-sim", "--bin", "simulate", "--"];
    let args = build.into_iter().chain(args.iter().map(String::as_str));
    cargo_run(&args.collect::<Vec<_>>())
}
