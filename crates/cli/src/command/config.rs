//! `meantime config`: the configuration that a server would run with.
#![expect(clippy::print_stdout, reason = "the configuration is the answer")]

use std::process::ExitCode;

use anyhow::Result;
use meantime_server::{Layers, check_tls};

use super::serve::ServerFlags;

/// Shows the configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    #[command(flatten)]
    flags: ServerFlags,
    /// Print it, as TOML
    #[arg(long)]
    print: bool,
}

impl Config {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let settings = self.flags.settings(Layers::default())?;
        check_tls(&settings.tls)?;
        if self.print {
            print!("{}", settings.to_toml()?);
        } else {
            println!("the configuration is good; --print shows it");
        }
        Ok(ExitCode::SUCCESS)
    }
}
