//! Developer commands: `cargo xtask <command>`.
//!
//! One file per command. Every command works from any directory of the repository and ends with
//! a non-zero exit code at the first thing that is wrong.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks")]

mod check;
mod conformance;
mod console;
mod deny;
mod fuzz;
mod mutants;
mod postgres;
mod sbom;
mod schemathesis;
mod sdk;
mod shell;
mod sim;
mod soak;
mod step;
mod test;
mod tidy;
mod vectors;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
Developer commands of Meantime.

Usage: cargo xtask <command> [arguments]

Commands:
  check             formatting, clippy with warnings as errors, tidy
  test [filter…]    check, then every test and documentation example;
                    with filters, only the tests whose name contains one of them
  sim N [--from S]  simulate N seeds with faults, each twice, beginning with S
  sim --seed S      simulate one of them and print its log (`--all`: the whole log)
  tidy              check facts about the repository
  mutants [name…]   break the code of each rule on purpose and check that a test fails;
                    `mutants --list` lists them
  soak kill [--rounds N] [--seed X]
                    kill a process under load repeatedly and audit its store
  soak power [--images N] [--seed X]
                    cut the power under a SQLite file repeatedly and audit it
  soak workers [--seconds N] [--seed X]
                    a Python and a TypeScript worker behind a proxy with faults: no
                    report may be lost or take effect twice
  soak credentials [--rounds N] [--seed X]
                    journeys whose callers send generated credentials, across restarts
                    and nodes; nobody's may count for another request
  fuzz [TARGET] [--seconds N] [--seed S]
                    generated input for every parser, evaluator, decoder and formatter;
                    `--case C` repeats one case
  schemathesis [--examples N] [--seed X]
                    requests generated from the OpenAPI document, against the server
  conformance dataweave [FILE] [--failures]
                    count the cases of a corpus with the official answer; without a
                    file, the one that MEANTIME_DATAWEAVE_CORPUS names
  conformance flow [DOCUMENT...]
                    run the flow scripts of documents unchanged; without
                    documents, those that MEANTIME_FLOW_DOCUMENTS names
  conformance bpmn [FILE|DIR...]
                    print which models are accepted, and why others are not
  conformance journey [DOCUMENT...]
                    load the YAML fragments of documents in all their readings;
                    without documents, those that MEANTIME_JOURNEY_DOCUMENTS names
  console           check the console and test it in a browser against the server
  console screenshots [NAME…]
                    pictures of every page, in target/console/screenshots
  deny              bans, licences, sources and advisories of all dependencies
                    (needs cargo-deny)
  sbom [FILE]       write a bill of materials (CycloneDX JSON) of all dependencies
                    for shipping, building and testing
  vectors flow      generate expressions of flow scripts and store Node's results
  vectors types     store what the compiler of TypeScript makes of sources with types
                    (needs Node)
  help              this text (also --help)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The chain of causes without a backtrace: the messages say which command failed.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    if rest.iter().any(|arg| arg == "--help" || arg == "-h") {
        return help();
    }
    match command {
        "check" => no_arguments(command, rest).and_then(|()| check::run()),
        "test" => test::run(rest),
        "sim" => sim::run(rest),
        "tidy" => no_arguments(command, rest).and_then(|()| tidy::run()),
        "mutants" => mutants::run(rest),
        "soak" => soak::run(rest),
        "fuzz" => fuzz::run(rest),
        "schemathesis" => schemathesis::run(rest),
        "conformance" => conformance::run(rest),
        "console" => console::run(rest),
        "deny" => no_arguments(command, rest).and_then(|()| deny::run()),
        "sbom" => sbom::run(rest),
        "vectors" => vectors::run(rest),
        "help" | "--help" | "-h" => help(),
        unknown => bail!("no command `{unknown}`; `cargo xtask --help` lists them"),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the same shape as every other command")]
fn help() -> Result<()> {
    print!("{HELP}");
    Ok(())
}

fn no_arguments(command: &str, rest: &[String]) -> Result<()> {
    match rest.first() {
        Some(extra) => bail!("`{command}` takes no arguments, but got `{extra}`"),
        None => Ok(()),
    }
}
