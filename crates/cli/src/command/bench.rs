//! `meantime bench`: runs a bench and prints its figures.

use std::process::ExitCode;

use anyhow::Result;
use meantime_bench::Bench;

use crate::show;

/// Runs a bench and prints its figures. Fails when a target was missed.
pub(super) fn run(bench: Bench) -> Result<ExitCode> {
    let output = bench.run()?;
    show::print_line(&output.text)?;
    Ok(if output.missed_targets == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
