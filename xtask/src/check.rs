//! `check`: formatting, clippy and tidy: everything that is checked without running the code.

use anyhow::Result;

use crate::shell::cargo_run;
use crate::step::{Options, Step, run_all};
use crate::tidy;

/// Cheapest first, so that a formatting error is reported before clippy compiles anything.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "fmt", run: format },
    Step { name: "clippy", run: clippy },
    Step { name: "tidy", run: |_| tidy::run() },
];

pub(crate) fn run() -> Result<()> {
    run_all(&[STEPS], &Options::default())
}

/// `bench/peers` is a workspace of its own, and formatting it needs none of its dependencies.
fn format(_: &Options) -> Result<()> {
    cargo_run(&["fmt", "--all", "--check"])?;
    cargo_run(&["fmt", "--manifest-path", "bench/peers/Cargo.toml", "--check"])
}

fn clippy(_: &Options) -> Result<()> {
    cargo_run(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}
