//! How a rate over HTTP is measured: warm up, measure, record what the server used.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;
use tokio::sync::Semaphore;

use super::super::report::{Figure, count, float};
use super::super::session::Session;
use super::super::starters::{LoadResult, pause};
use super::caller::RepeatedCalls;
use super::connection::json_request;
use super::server::Server;
use super::worker::Workers;

/// Number of connections for the figures that have targets.
pub(super) const MANY_CONNECTIONS: usize = 64;

/// How many of the connections belong to workers.
pub(super) const WORKERS: usize = 4;

/// How many starts may be ahead of the workers.
const QUEUED_TASKS: usize = 2_000;

/// The name of a rate, and the share of J that it must reach.
pub(super) struct Rate {
    pub(super) scenario: &'static str,
    pub(super) name: String,
    pub(super) at_least: Option<f64>,
}

impl Rate {
    /// Adds the figure.
    async fn add(self, session: &mut Session, per_second: f64) -> Result<()> {
        let appended = session.appended().await?;
        let baseline = session.common.db.baselines().0;
        let figure = Figure::new(self.scenario, self.name, per_second, "/s");
        let mut figure = figure.of(baseline, appended);
        if let Some(share) = self.at_least {
            figure = figure.at_least(share);
        }
        session.add(figure);
        Ok(())
    }
}

/// Measures calls that are finished when they are answered.
pub(super) async fn calls_per_second(
    session: &mut Session,
    server: &Server,
    calls: RepeatedCalls,
    rate: Rate,
) -> Result<()> {
    session.progress.step(rate.name.clone(), 0);
    calls.run_for(session.warm_up()).await?;
    let before = server.processor_ms();
    let load = calls.run_for(session.time()).await?;
    let scenario = rate.scenario;
    rate.add(session, load.per_second()).await?;
    latency(session, scenario, &load);
    usage(session, scenario, server, before, load.seconds);
    Ok(())
}

/// Measures instances with one task each, from start to completion; a few of the connections belong
/// to workers.
pub(super) async fn tasks_per_second(
    session: &mut Session,
    server: &Server,
    calls: RepeatedCalls,
    rate: Rate,
) -> Result<f64> {
    session.progress.step(rate.name.clone(), 0);
    let workers = WORKERS.min(calls.connections);
    let connections = (calls.connections - workers).max(1);
    let permits = Arc::new(Semaphore::new(QUEUED_TASKS));
    let working = Workers::begin(server.address, workers, Some(&permits))?;
    let calls = RepeatedCalls { permits: Some(permits), connections, ..calls };
    calls.run_for(session.warm_up()).await?;
    let (before, done, watch) = (server.processor_ms(), working.done(), Stopwatch::start());
    let load = calls.run_for(session.time()).await?;
    let per_second = count(working.done() - done) / watch.elapsed().as_secs_f64();
    working.end().await?;
    let scenario = rate.scenario;
    rate.add(session, per_second).await?;
    latency(session, scenario, &load);
    usage(session, scenario, server, before, load.seconds);
    drain(server).await?;
    Ok(per_second)
}

/// Completes the tasks that were started ahead of the workers, so that they do not count in the
/// next measurement.
async fn drain(server: &Server) -> Result<()> {
    let working = Workers::begin(server.address, WORKERS, None)?;
    let mut done = usize::MAX;
    while working.done() != done {
        done = working.done();
        pause(Duration::from_millis(200)).await;
    }
    working.end().await
}

/// Calls that start a definition.
pub(super) fn starts(server: &Server, path: &str, body: &str, connections: usize) -> RepeatedCalls {
    let request = json_request(path, body).into();
    RepeatedCalls { address: server.address, request, connections, status: 201, permits: None }
}

fn latency(session: &mut Session, scenario: &'static str, load: &LoadResult) {
    session.add(Figure::new(scenario, "… start, p50", load.latency.percentile(50.0), "ms"));
    session.add(Figure::new(scenario, "… start, p99", load.latency.percentile(99.0), "ms"));
}

/// Processor time and memory that the server has used since then.
pub(super) fn usage(
    session: &mut Session,
    scenario: &'static str,
    server: &Server,
    before: u64,
    seconds: f64,
) {
    let used = float(server.processor_ms().saturating_sub(before)) / seconds / 10.0;
    session.add(Figure::new(scenario, "… processor of the server", used, "% of a core"));
    let resident = float(server.resident_bytes()) / 1_048_576.0;
    session.add(Figure::new(scenario, "… its resident memory", resident, "MiB"));
}
