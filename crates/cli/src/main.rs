//! The `meantime` binary. The server, its commands and `dev` arrive with the HTTP API; until then
//! it says so, by name, instead of doing nothing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

use std::process::ExitCode;

const USAGE: &str = "\
meantime — a durable workflow engine that owns time

usage: meantime <command>

  dev        run the engine on the embedded store with the examples loaded
  --version  print the version
  --help     print this

This build holds the kernel and its stores; it has no server yet.";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None | Some("--help" | "-h" | "help") => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Some("--version" | "-V") => {
            println!("meantime {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some("dev") => {
            eprintln!(
                "meantime dev: this build has no server yet; `cargo xtask test` tries the kernel"
            );
            ExitCode::FAILURE
        }
        Some(other) => {
            eprintln!("meantime: unknown command {other:?}; see `meantime --help`");
            ExitCode::from(2)
        }
    }
}
