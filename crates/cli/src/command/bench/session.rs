//! One run: the machine, the baselines, the scenarios in order, the report.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::args::{Format, KernelArgs, Scenario};
use super::baseline;
use super::machine::Machine;
use super::progress::Progress;
use super::report::{Figure, Report};
use super::{scenario, table};

/// Instances among which B picks at random.
const RANDOM_INSTANCES: usize = 1_000_000;

/// What every scenario gets.
pub(crate) struct Session {
    pub(super) args: KernelArgs,
    pub(super) progress: Progress,
    report: Report,
    appended: Option<f64>,
    random: Option<f64>,
}

/// Runs what was asked for and prints it.
pub(super) fn run(args: KernelArgs) -> Result<ExitCode> {
    ensure!(args.scale > 0.0 && args.scale.is_finite(), "--scale must be above zero");
    ensure!(args.seconds > 0, "--seconds must be above zero");
    let runtime = tokio::runtime::Runtime::new()?;
    let (progress, machine) = (Progress::new(), Machine::look(&args.db)?);
    let report = Report::new(args.db.to_string(), args.scale, machine);
    let mut session = Session { args, progress, report, appended: None, random: None };
    runtime.block_on(session.scenarios())?;
    session.progress.finish();
    session.print()
}

impl Session {
    async fn scenarios(&mut self) -> Result<()> {
        if self.args.wants(Scenario::Task) {
            scenario::task(self).await?;
        }
        if self.args.wants(Scenario::Turns) {
            scenario::turns(self).await?;
        }
        if self.args.wants(Scenario::Timers) {
            scenario::timers(self).await?;
        }
        if self.args.wants(Scenario::Sleeping) {
            scenario::sleeping(self).await?;
        }
        if self.args.wants(Scenario::State) {
            scenario::state(self).await?;
        }
        if self.args.wants(Scenario::Flood) {
            scenario::flood(self).await?;
        }
        if self.args.wants(Scenario::Growth) {
            scenario::growth(self).await?;
        }
        Ok(())
    }

    /// Adds a figure. Targets are for the whole size: a small one says nothing about them.
    pub(super) fn add(&mut self, mut figure: Figure) {
        if self.args.scale < 1.0 {
            figure.target = None;
        }
        self.report.figures.push(figure);
    }

    /// How long a rate is measured.
    pub(super) fn time(&self) -> Duration {
        Duration::from_secs(self.args.seconds)
    }

    /// How long a rig runs before that.
    pub(super) fn warm_up(&self) -> Duration {
        self.time() / 5
    }

    /// J: one-task instances per second, appended in groups of 64, without an engine.
    pub(super) fn appended(&mut self) -> Result<f64> {
        if let Some(known) = self.appended {
            return Ok(known);
        }
        self.progress.step("baseline J", 0);
        let rate = baseline::appended(&self.args.db, self.warm_up(), self.time())?;
        self.add(Figure::new("baseline", "J: one-task instances, groups of 64", rate, "/s"));
        self.appended = Some(rate);
        Ok(rate)
    }

    /// B: transitions of random instances per second, in batches of 1,000, without an engine.
    pub(super) fn random(&mut self) -> Result<f64> {
        if let Some(known) = self.random {
            return Ok(known);
        }
        let count = self.args.scaled(RANDOM_INSTANCES);
        let rate = self.random_among(count)?;
        self.random = Some(rate);
        Ok(rate)
    }

    /// The same among a number of instances.
    pub(super) fn random_among(&mut self, count: usize) -> Result<f64> {
        self.progress.step(format!("baseline B among {count}"), 0);
        let rate = baseline::random(&self.args.db, count, self.warm_up(), self.time())?;
        let name = format!("B: transitions among {count}, batches of 1,000");
        self.add(Figure::new("baseline", name, rate, "/s"));
        Ok(rate)
    }

    #[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
    fn print(&self) -> Result<ExitCode> {
        match self.args.format {
            Format::Table => println!("{}", table::render(&self.report)),
            Format::Json => println!("{}", serde_json::to_string_pretty(&self.report)?),
        }
        Ok(if self.report.missed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
