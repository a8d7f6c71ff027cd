//! The `meantime` binary: reads the command line and hands over to the command.
#![expect(clippy::print_stderr, reason = "a command line says what went wrong")]

mod client;
mod command;
mod definitions;
mod draw;
mod exit;
mod server;
mod show;

use std::process::ExitCode;

use clap::Parser;
use client::Target;
use command::Command;

/// A durable workflow engine that owns time.
///
/// Exit codes: 0 done, 1 refused or failed, 2 wrong usage, or a file or server cannot be reached.
#[derive(Debug, Parser)]
#[command(name = "meantime", version)]
struct Meantime {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let Meantime { target, command } = Meantime::parse();
    match command.run(&target) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("meantime: {error:#}");
            exit::code_of(&error)
        }
    }
}
