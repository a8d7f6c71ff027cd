//! The `meantime` binary: reads the command line and hands over to the command.
#![expect(clippy::print_stderr, reason = "a command line says what went wrong")]

mod command;

use std::process::ExitCode;

use clap::Parser;
use command::Command;

/// A durable workflow engine that owns time.
#[derive(Debug, Parser)]
#[command(name = "meantime", version)]
struct Meantime {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Meantime::parse().command.run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("meantime: {error:#}");
            ExitCode::FAILURE
        }
    }
}
