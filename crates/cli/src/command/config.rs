//! `meantime config`: validates the effective configuration of a server.

use std::process::ExitCode;

use anyhow::Result;
use meantime_server::{Layers, check_tls};

use super::serve::ServerFlags;
use crate::show;

/// Validates the configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    #[command(flatten)]
    flags: ServerFlags,
    /// Print the effective configuration as TOML
    #[arg(long)]
    print: bool,
}

impl Config {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let settings = self.flags.settings(Layers::default())?;
        check_tls(&settings.tls)?;
        if self.print {
            show::print_line(settings.to_toml()?.trim_end())?;
        } else {
            show::print_line("the configuration is valid; --print shows it")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
