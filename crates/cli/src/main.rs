//! The `meantime` binary: parses the command line and runs the command.

mod client;
mod command;
mod definitions;
mod diagnostic;
mod exit;
mod server;
mod show;
mod yaml;

use std::process::ExitCode;

use clap::Parser;
use client::ServerOptions;
use command::Command;

/// Memory is often freed by another thread than the one that allocated it: a turn is computed on
/// one thread, committed on the next and answered on a third. This allocator needs no lock for
/// that, so that a thread of low priority cannot delay the others.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A durable workflow engine that owns time.
///
/// Exit codes: 0 success, 1 rejected or failed, 2 wrong usage, or a file or server cannot be
/// reached.
#[derive(Debug, Parser)]
#[command(name = "meantime", version)]
struct Meantime {
    #[command(flatten)]
    target: ServerOptions,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let Meantime { target, command } = Meantime::parse();
    match command.run(&target) {
        Ok(code) => code,
        // The reader closed the pipe, as `head` does: not an error.
        Err(error) if error.is::<show::OutputClosed>() => ExitCode::SUCCESS,
        Err(error) => {
            show::print_error(&format!("meantime: {}", exit::message_of(&error)));
            exit::code_of(&error)
        }
    }
}
