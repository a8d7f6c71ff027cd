//! `meantime completions`: shell completions.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args as _, Command as ClapCommand, Subcommand as _};
use clap_complete::Shell;

use super::Command;
use crate::client::ServerOptions;
use crate::show;

/// Prints shell completions.
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let binary = ClapCommand::new("meantime");
        let mut binary = Command::augment_subcommands(ServerOptions::augment_args(binary));
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut binary, "meantime", &mut text);
        show::print_line(String::from_utf8_lossy(&text).trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
