//! The list of commands and their dispatch.

use std::process::ExitCode;

use anyhow::Result;
use meantime_bench::{Bench, BenchChild};

use super::bench;
use super::completions::Completions;
use super::config::Config;
use super::definition::Definitions;
use super::deploy::Deploy;
use super::dev::Dev;
use super::eval::Eval;
use super::event::{Clock, Events};
use super::incident::Incidents;
use super::instance::{Cancel, Logs, Show, Signal, Start};
use super::instances::{Instances, Vars};
use super::key::Key;
use super::message::{Messages, Signals};
use super::schedule::Schedules;
use super::search::{CountGroups, Ps};
use super::serve::Serve;
use super::simulate::Simulate;
use super::store::{Backup, Doctor, Migrate, Restore, Resume};
use super::task::Tasks;
use super::test::Test;
use super::time::{Forecast, Why};
use super::timer::Timers;
use super::validate::Validate;
use crate::client::ServerOptions;

/// The subcommands of `meantime`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a development server with an embedded store in ./.meantime and watch a directory
    Dev(Dev),
    /// Run a production server
    Serve(Serve),
    /// Validate definitions without a server
    Validate(Validate),
    /// Run definitions on a virtual clock, with stubs for what others do, and print what happens
    Simulate(Simulate),
    /// Run test files (*.test.yaml) on a virtual clock
    Test(Test),
    /// Deploy a file, or all definitions of a directory
    Deploy(Deploy),
    /// Start an instance
    Start(Start),
    /// List instances
    Ps(Ps),
    /// Count instances in groups
    Stats(CountGroups),
    /// Show an instance
    Show(Show),
    /// Cancel an instance
    Cancel(Cancel),
    /// Send a signal to an instance
    Signal(Signal),
    /// Show the history of an instance
    Logs(Logs),
    /// Everything about instances: list, show, suspend, resume, restart, cancel
    Instances(Instances),
    /// List and correct variables of an instance
    Vars(Vars),
    /// List tasks; claim, complete, fail and assign them
    Tasks(Tasks),
    /// Publish messages
    Messages(Messages),
    /// Broadcast signals
    Signals(Signals),
    /// List definitions; show their source, undeploy versions
    Definitions(Definitions),
    /// Print what happens
    Events(Events),
    /// Show a virtual clock, and move it
    Clock(Clock),
    /// List armed timers and deadlines; move, fire, freeze and release them
    Timers(Timers),
    /// List schedules; create, pause, resume, trigger, backfill and delete them
    Schedules(Schedules),
    /// Show everything that will fire
    Forecast(Forecast),
    /// Explain an instance, timer, task, schedule or occurrence
    Why(Why),
    /// List open incidents; retry and resolve them
    Incidents(Incidents),
    /// Back up a store online
    Backup(Backup),
    /// Restore a backup; the restored store starts paused
    Restore(Restore),
    /// Resume the engine of a restored store
    Resume(Resume),
    /// Check a store for damage and run a security check of the configuration
    Doctor(Doctor),
    /// Migrate a store to the schema of this release
    Migrate(Migrate),
    /// Create an API key
    Key(Key),
    /// Validate or print the effective configuration
    Config(Config),
    /// Print shell completions
    Completions(Completions),
    /// Measure the engine on this machine, in absolute figures and relative to the store alone
    Bench(Bench),
    /// Evaluate one expression without a server and print the result as JSON
    Eval(Eval),
    /// Internal: a process that `bench` starts and kills
    #[command(hide = true)]
    BenchChild(BenchChild),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        match self {
            Self::Dev(dev) => dev.run(),
            Self::Serve(serve) => serve.run(),
            Self::Validate(validate) => validate.run(target.format),
            Self::Simulate(simulate) => simulate.run(target.format),
            Self::Test(test) => test.run(target.format),
            Self::Deploy(deploy) => deploy.run(target),
            Self::Start(start) => start.run(target),
            Self::Ps(ps) => ps.run(target),
            Self::Stats(stats) => stats.run(target),
            Self::Show(show) => show.run(target),
            Self::Cancel(cancel) => cancel.run(target),
            Self::Signal(signal) => signal.run(target),
            Self::Logs(logs) => logs.run(target),
            Self::Instances(instances) => instances.run(target),
            Self::Vars(vars) => vars.run(target),
            Self::Tasks(tasks) => tasks.run(target),
            Self::Messages(messages) => messages.run(target),
            Self::Signals(signals) => signals.run(target),
            Self::Definitions(definitions) => definitions.run(target),
            Self::Events(events) => events.run(target),
            Self::Clock(clock) => clock.run(target),
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
            Self::Bench(args) => bench::run(args),
            Self::Eval(eval) => eval.run(),
            Self::BenchChild(child) => child.run(),
        }
    }
}
