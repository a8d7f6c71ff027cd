//! Every command, and where it goes. A dispatch, nothing else.

use std::process::ExitCode;

use anyhow::Result;

use super::bench::{Bench, BenchPart};
use super::completions::Completions;
use super::config::Config;
use super::deploy::Deploy;
use super::dev::Dev;
use super::eval::Eval;
use super::instance::{Cancel, Logs, Ps, Show, Signal, Start};
use super::key::Key;
use super::serve::Serve;
use super::store::{Backup, Doctor, Migrate, Restore, Resume};
use super::time::{Forecast, Incidents, Schedules, Timers, Why};
use super::validate::Validate;
use crate::client::ServerOptions;

/// What the binary can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a server on an embedded store in ./.meantime, with the definitions of a directory
    Dev(Dev),
    /// Run a server
    Serve(Serve),
    /// Judge definitions without a server
    Validate(Validate),
    /// Deploy a file, or all definitions of a directory
    Deploy(Deploy),
    /// Start an instance
    Start(Start),
    /// List instances
    Ps(Ps),
    /// Show an instance
    Show(Show),
    /// End an instance
    Cancel(Cancel),
    /// Send a signal to an instance
    Signal(Signal),
    /// Show what happened to an instance
    Logs(Logs),
    /// List armed timers and deadlines
    Timers(Timers),
    /// List schedules
    Schedules(Schedules),
    /// Show everything that will fire
    Forecast(Forecast),
    /// Explain a timer, task, instance or occurrence
    Why(Why),
    /// List what needs a person
    Incidents(Incidents),
    /// Copy a store while it is in use
    Backup(Backup),
    /// Make a store from a copy; it starts paused
    Restore(Restore),
    /// Confirm that a restored copy may act
    Resume(Resume),
    /// Look for damage, and at the posture of a configuration
    Doctor(Doctor),
    /// Bring a store to the schema of this release
    Migrate(Migrate),
    /// Make an API key
    Key(Key),
    /// Show the configuration that a server would run with
    Config(Config),
    /// Print completions for a shell
    Completions(Completions),
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
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        match self {
            Self::Dev(dev) => dev.run(),
            Self::Serve(serve) => serve.run(),
            Self::Validate(validate) => validate.run(target.format),
            Self::Deploy(deploy) => deploy.run(target),
            Self::Start(start) => start.run(target),
            Self::Ps(ps) => ps.run(target),
            Self::Show(show) => show.run(target),
            Self::Cancel(cancel) => cancel.run(target),
            Self::Signal(signal) => signal.run(target),
            Self::Logs(logs) => logs.run(target),
            Self::Timers(timers) => timers.run(target),
            Self::Schedules(schedules) => schedules.run(target),
            Self::Forecast(forecast) => forecast.run(target),
            Self::Why(why) => why.run(target),
            Self::Incidents(incidents) => incidents.run(target),
            Self::Backup(backup) => backup.run(),
            Self::Restore(restore) => restore.run(),
            Self::Resume(resume) => resume.run(target),
            Self::Doctor(doctor) => doctor.run(),
            Self::Migrate(migrate) => migrate.run(),
            Self::Key(key) => key.run(target.format),
            Self::Config(config) => config.run(),
            Self::Completions(completions) => completions.run(),
            Self::Bench(bench) => bench.run(),
            Self::Eval(eval) => eval.run(),
            Self::BenchPart(part) => part.run(),
        }
    }
}
