//! One run: the machine, the baselines, the scenarios in order, the report.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use super::args::{
    CommonArgs, FlowArgs, HttpArgs, IsolationArgs, KernelArgs, OutputFormat, RoundTripArgs,
    Scenario,
};
use super::baseline;
use super::machine::HostMachine;
use super::progress::ProgressDisplay;
use super::report::{BenchOutput, BenchReport, Figure};
use super::{http, scenario, table};

/// Instances among which B picks at random.
const RANDOM_INSTANCES: usize = 1_000_000;

/// The context of every scenario.
pub(crate) struct Session {
    pub(super) common: CommonArgs,
    pub(super) progress: ProgressDisplay,
    report: BenchReport,
    appended: Option<f64>,
    random: Option<f64>,
}

/// Measures the kernel.
pub(super) fn run_kernel(args: KernelArgs) -> Result<BenchOutput> {
    let named = |scenario: &&Scenario| args.names(**scenario) && !scenario.is_for(&args.common.db);
    if let Some(scenario) = Scenario::value_variants().iter().find(named) {
        bail!("{scenario:?} cannot be measured on {}", args.common.db);
    }
    let wanted = |scenario| args.wants(scenario);
    let wanted: Vec<_> =
        Scenario::value_variants().iter().copied().filter(|it| wanted(*it)).collect();
    run("kernel", args.common, async move |session| {
        for scenario in wanted {
            session.scenario(scenario).await?;
        }
        Ok(())
    })
}

/// Measures flow scripts.
pub(super) fn run_flow(args: FlowArgs) -> Result<BenchOutput> {
    run("flow", args.common, scenario::flow)
}

/// Measures a server over HTTP.
pub(super) fn run_http(args: HttpArgs) -> Result<BenchOutput> {
    run("http", args.common, http::flow)
}

/// Measures instances with tasks over HTTP, from start to end.
pub(super) fn run_round_trip(args: RoundTripArgs) -> Result<BenchOutput> {
    let RoundTripArgs { common, server, against, rounds, worker, against_worker } = args;
    ensure!(rounds > 0, "--rounds must be above zero");
    let own = || std::env::current_exe().context("the path of this binary is not known");
    let first = server.map_or_else(own, Ok)?;
    let mut servers = vec![http::MeasuredServer { binary: first, worker }];
    let other_worker = against_worker.unwrap_or(worker);
    servers.extend(against.map(|binary| http::MeasuredServer { binary, worker: other_worker }));
    let plan = http::RoundTripPlan { servers, rounds };
    run("round-trip", common, async move |session| http::round_trip(session, &plan).await)
}

/// Measures journeys over HTTP.
pub(super) fn run_journey(args: HttpArgs) -> Result<BenchOutput> {
    run("journey", args.common, http::journey)
}

/// Measures BPMN processes over HTTP.
pub(super) fn run_bpmn(args: HttpArgs) -> Result<BenchOutput> {
    run("bpmn", args.common, http::bpmn)
}

/// Measures a server that gets more requests than it can serve.
pub(super) fn run_overload(args: HttpArgs) -> Result<BenchOutput> {
    run("overload", args.common, http::overload)
}

/// Measures a server beside one bad definition after another.
pub(super) fn run_isolation(args: IsolationArgs) -> Result<BenchOutput> {
    let IsolationArgs { common, seed, variants, skip, only } = args;
    ensure!(variants > 0, "--variants must be above zero");
    let plan = http::IsolationPlan { seed, variants, skip, kinds: only };
    run("isolation", common, async move |session| http::isolation(session, &plan).await)
}

/// Runs scenarios and renders their figures.
fn run(
    what: &'static str,
    common: CommonArgs,
    scenarios: impl AsyncFnOnce(&mut Session) -> Result<()>,
) -> Result<BenchOutput> {
    ensure!(common.scale > 0.0 && common.scale.is_finite(), "--scale must be above zero");
    ensure!(common.seconds > 0, "--seconds must be above zero");
    let runtime = tokio::runtime::Runtime::new()?;
    let (progress, machine) = (ProgressDisplay::new(), HostMachine::look(&common.db)?);
    let report = BenchReport::new(what, common.db.to_string(), common.scale, machine);
    let mut session = Session { common, progress, report, appended: None, random: None };
    runtime.block_on(scenarios(&mut session))?;
    session.progress.finish();
    session.render()
}

impl Session {
    async fn scenario(&mut self, scenario: Scenario) -> Result<()> {
        match scenario {
            Scenario::Task => scenario::task(self).await,
            Scenario::Turns => scenario::turns(self).await,
            Scenario::Timers => scenario::timers(self).await,
            Scenario::Sleeping => scenario::sleeping(self).await,
            Scenario::State => scenario::state(self).await,
            Scenario::Flood => scenario::flood(self).await,
            Scenario::Growth => scenario::growth(self).await,
            Scenario::Nodes => scenario::nodes(self).await,
        }
    }

    /// Adds a figure. Targets apply only at full scale: smaller runs say nothing about them.
    pub(super) fn add(&mut self, mut figure: Figure) {
        if self.common.scale < 1.0 {
            figure.target = None;
        }
        self.report.figures.push(figure);
    }

    /// Adds a figure whose target is for SQLite alone.
    pub(super) fn add_for_sqlite(&mut self, mut figure: Figure) {
        if !self.common.db.is_sqlite() {
            figure.target = None;
        }
        self.add(figure);
    }

    /// How long a rate is measured.
    pub(super) fn time(&self) -> Duration {
        Duration::from_secs(self.common.seconds)
    }

    /// How long a rig runs before a rate is measured.
    pub(super) fn warm_up(&self) -> Duration {
        self.time() / 5
    }

    /// The median time of the machine to make an appended page durable.
    pub(super) const fn sync_p50_ms(&self) -> f64 {
        self.report.machine.fdatasync_p50_ms
    }

    /// J: one-task instances per second, appended in groups of 64, without an engine.
    pub(super) async fn appended(&mut self) -> Result<f64> {
        if let Some(known) = self.appended {
            return Ok(known);
        }
        self.progress.step("baseline J", 0);
        let rate = baseline::appended(&self.common.db, self.warm_up(), self.time()).await?;
        let (name, _) = self.common.db.baselines();
        let name = format!("{name}: one-task instances, groups of 64");
        self.add(Figure::new("baseline", name, rate, "/s"));
        self.appended = Some(rate);
        Ok(rate)
    }

    /// B: transitions of random instances per second, in batches of 1,000, without an engine.
    pub(super) async fn random(&mut self) -> Result<f64> {
        if let Some(known) = self.random {
            return Ok(known);
        }
        let count = self.common.scaled(RANDOM_INSTANCES);
        let rate = self.random_among(count).await?;
        self.random = Some(rate);
        Ok(rate)
    }

    /// B, among a given number of instances.
    pub(super) async fn random_among(&mut self, count: usize) -> Result<f64> {
        self.progress.step(format!("baseline B among {count}"), 0);
        let rate = baseline::random(&self.common.db, count, self.warm_up(), self.time()).await?;
        let (_, name) = self.common.db.baselines();
        let name = format!("{name}: transitions among {count}, batches of 1,000");
        self.add(Figure::new("baseline", name, rate, "/s"));
        Ok(rate)
    }

    fn render(&self) -> Result<BenchOutput> {
        let text = match self.common.format {
            OutputFormat::Table | OutputFormat::Wide => table::render(&self.report),
            OutputFormat::Json | OutputFormat::Jsonl | OutputFormat::Yaml => {
                serde_json::to_string_pretty(&self.report)?
            }
        };
        Ok(BenchOutput { text, missed_targets: self.report.missed() })
    }
}
