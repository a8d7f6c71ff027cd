//! `meantime completions`: completions for a shell.

use std::process::ExitCode;

use clap::{Args as _, Command as ClapCommand, Subcommand as _};
use clap_complete::Shell;

use super::Command;
use crate::client::Target;

/// Prints completions for a shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> ExitCode {
        let binary = ClapCommand::new("meantime");
        let mut binary = Command::augment_subcommands(Target::augment_args(binary));
        clap_complete::generate(self.shell, &mut binary, "meantime", &mut std::io::stdout());
        ExitCode::SUCCESS
    }
}
