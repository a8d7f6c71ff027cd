//! Every command, and where it goes. A dispatch, nothing else.

use std::process::ExitCode;

use anyhow::{Result, bail};

use super::bench::{Bench, BenchPart};
use super::eval::Eval;

/// What the binary can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run the engine on the embedded store with the examples loaded
    Dev,
    /// Measure this engine on this machine: figures, ratios to what the store alone can do
    Bench(Bench),
    /// Evaluate one expression without a server and print the result as JSON
    Eval(Eval),
    /// A process of its own that `bench` starts and kills
    #[command(hide = true)]
    BenchPart(BenchPart),
}

impl Command {
    /// Runs it to its end.
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self {
            Self::Dev => bail!("this build has no server yet; `cargo xtask test` tries the kernel"),
            Self::Bench(bench) => bench.run(),
            Self::Eval(eval) => eval.run(),
            Self::BenchPart(part) => part.run(),
        }
    }
}
