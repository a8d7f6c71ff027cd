//! `bench round-trip`: callers start an instance and wait for its end, workers do its tasks.
//!
//! ```text
//!   64 callers: POST /instances?wait=PT20S&for=end ──► server ◄── 4 workers: claim, complete
//! ```
//!
//! This is what a caller of a workflow feels: the whole way through, including the commits that one
//! task needs one after another. `--server` measures another binary with this load generator, and
//! `--against` measures two of them in turn, so that a change is compared with what was before it
//! on the same machine in the same minutes.

use std::path::PathBuf;

use anyhow::Result;

use super::super::process::ProcessorTime;
use super::super::report::{Figure, float};
use super::super::sample::Sample;
use super::super::session::Session;
use super::measure::{MANY_CONNECTIONS, WORKERS, starts};
use super::server::{ClockKind, Server};
use super::sources::ROUND_TRIPS;
use super::worker::{WorkerKind, Workers};

/// The tasks of an instance, by the name of its definition, with the share of J that is wanted.
const WORKLOADS: [(&str, &str, f64); 2] =
    [("one", "instances of one task", 0.38), ("five", "instances of five tasks", 0.13)];

/// The latency of one caller alone, in times that the disk takes.
const ONE_CONNECTION: f64 = 6.0;

/// At half load, in milliseconds.
const HALF_LOAD_P99_MS: f64 = 15.0;

/// What to measure.
pub(crate) struct RoundTripPlan {
    /// The binaries of the servers, each with its kind of workers.
    pub(crate) servers: Vec<MeasuredServer>,
    pub(crate) rounds: usize,
}

/// A server to measure, and how its workers work.
pub(crate) struct MeasuredServer {
    pub(crate) binary: PathBuf,
    pub(crate) worker: WorkerKind,
}

/// What one server did in one round.
struct Round {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Processor time of the server for each instance, in microseconds.
    processor_us: f64,
}

/// Everything that was measured of one server.
#[derive(Default)]
struct Rounds {
    per_second: Sample,
    p50_ms: Sample,
    p99_ms: Sample,
    processor_us: Sample,
}

impl Rounds {
    fn add(&mut self, round: &Round) {
        self.per_second.add(round.per_second);
        self.p50_ms.add(round.p50_ms);
        self.p99_ms.add(round.p99_ms);
        self.processor_us.add(round.processor_us);
    }
}

pub(crate) async fn run(session: &mut Session, plan: &RoundTripPlan) -> Result<()> {
    let appended = session.appended().await?;
    let before = ProcessorTime::now();
    for (definition, name, share) in WORKLOADS {
        let mut measured: Vec<Rounds> = plan.servers.iter().map(|_| Rounds::default()).collect();
        for round in 1..=plan.rounds {
            for (measured_server, rounds) in plan.servers.iter().zip(&mut measured) {
                let label = format!("{name}, round {round} of {}", plan.rounds);
                session.progress.step(label, 0);
                rounds.add(&many_callers(session, measured_server, definition).await?);
            }
        }
        for (number, rounds) in measured.iter().enumerate() {
            let scenario = scenario(number);
            let rate = rounds.per_second.percentile(50.0);
            let figure = Figure::new(scenario, name, rate, "/s");
            let baseline = session.common.db.baselines().0;
            session.add_for_sqlite(figure.of(baseline, appended).at_least(share));
            if number > 0 {
                let first = measured[0].per_second.percentile(50.0);
                session.add(Figure::new(scenario, "…", rate, "/s").of("the first", first));
            }
            for (what, sample, unit) in [
                ("… p50", &rounds.p50_ms, "ms"),
                ("… p99", &rounds.p99_ms, "ms"),
                ("… processor time of the server for each", &rounds.processor_us, "us"),
            ] {
                session.add(Figure::new(scenario, what, sample.percentile(50.0), unit));
            }
        }
    }
    for (number, MeasuredServer { binary, worker }) in plan.servers.iter().enumerate() {
        let server =
            Server::start_binary(binary, &session.common.db, ClockKind::Real, ROUND_TRIPS).await?;
        one_caller(session, *worker, &server, scenario(number)).await?;
        half_load(session, *worker, &server, scenario(number)).await?;
        server.end()?;
    }
    let stolen = ProcessorTime::now().stolen_share_since(before) * 100.0;
    session.add(Figure::new("machine", "processor time that its host took away", stolen, "%"));
    Ok(())
}

const fn scenario(number: usize) -> &'static str {
    if number == 0 { "round trip" } else { "against" }
}

/// As many callers as connections, each starts again as soon as its instance has ended.
async fn many_callers(
    session: &Session,
    measured: &MeasuredServer,
    definition: &str,
) -> Result<Round> {
    let MeasuredServer { binary, worker } = measured;
    let server =
        Server::start_binary(binary, &session.common.db, ClockKind::Real, ROUND_TRIPS).await?;
    let working = Workers::begin_kind(server.address, WORKERS, None, *worker)?;
    let calls = starts(&server, PATH, &body(definition), MANY_CONNECTIONS);
    calls.run_for(session.warm_up()).await?;
    let before = server.processor_ms();
    let load = calls.run_for(session.time()).await?;
    let used_us = float(server.processor_ms().saturating_sub(before)) * 1_000.0;
    working.end().await?;
    server.end()?;
    Ok(Round {
        per_second: load.per_second(),
        p50_ms: load.latency.percentile(50.0),
        p99_ms: load.latency.percentile(99.0),
        processor_us: used_us / (load.per_second() * load.seconds),
    })
}

/// One caller and one worker.
async fn one_caller(
    session: &mut Session,
    worker: WorkerKind,
    server: &Server,
    scenario: &'static str,
) -> Result<()> {
    session.progress.step("one connection", 0);
    let working = Workers::begin_kind(server.address, 1, None, worker)?;
    let calls = starts(server, PATH, &body("one"), 1);
    calls.run_for(session.warm_up()).await?;
    let load = calls.run_for(session.time()).await?;
    working.end().await?;
    let (p50, sync) = (load.latency.percentile(50.0), session.sync_p50_ms());
    let figure = Figure::new(scenario, "one connection, one task, p50", p50, "ms");
    session.add_for_sqlite(figure.of("fdatasync p50", sync).at_most(ONE_CONNECTION));
    Ok(())
}

/// Half of the rate that the callers reached just before.
async fn half_load(
    session: &mut Session,
    worker: WorkerKind,
    server: &Server,
    scenario: &'static str,
) -> Result<()> {
    session.progress.step("half load", 0);
    let working = Workers::begin_kind(server.address, WORKERS, None, worker)?;
    let calls = starts(server, PATH, &body("one"), MANY_CONNECTIONS);
    calls.run_for(session.warm_up()).await?;
    let peak = calls.run_for(session.time()).await?.per_second();
    let load = calls.run_at_rate(peak / 2.0, session.time()).await?;
    working.end().await?;
    session.add(Figure::new(scenario, "half load", load.per_second(), "/s"));
    session.add(Figure::new(scenario, "… p50", load.latency.percentile(50.0), "ms"));
    let p99 = Figure::new(scenario, "… p99", load.latency.percentile(99.0), "ms");
    session.add(p99.at_most(HALF_LOAD_P99_MS));
    Ok(())
}

/// The caller is answered when its instance has ended.
const PATH: &str = "/instances?wait=PT20S&for=end";

fn body(definition: &str) -> String {
    format!("{{\"definition\":\"{definition}\"}}")
}
