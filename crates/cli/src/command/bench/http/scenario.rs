//! What is measured over HTTP, and against what it is held.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;
use tokio::sync::Semaphore;

use super::super::load::{Load, pause};
use super::super::report::{Figure, count, float};
use super::super::session::Session;
use super::caller::Calls;
use super::connection::json_request;
use super::server::Server;
use super::worker::Workers;

/// Connections of the figures that have targets.
const MANY: usize = 64;
const CONNECTIONS: [usize; 3] = [1, MANY, 256];

/// How many of the connections are workers.
const WORKERS: usize = 4;

/// How many starts may be ahead of the workers.
const AHEAD: usize = 2_000;

const SLEEPERS: usize = 10_000;
const TASKS: usize = 20_000;

/// A binary of a release is at most so large.
const BINARY_MB: f64 = 40.0;

pub(crate) async fn run(session: &mut Session) -> Result<()> {
    let appended = session.appended().await?;
    let server = Server::start(&session.common.db).await?;
    let ready = Figure::new("start", "ready after exec, empty database", server.ready_ms, "ms");
    session.add(ready.at_most(150.0));
    binary(session)?;
    one_connection(session, &server).await?;
    for connections in CONNECTIONS {
        ends(session, &server, connections, appended).await?;
    }
    let mut rate = 0.0;
    for connections in CONNECTIONS {
        let found = task(session, &server, connections, appended).await?;
        rate = if connections == MANY { found } else { rate };
    }
    half_load(session, &server, rate / 2.0).await?;
    batches(session, &server, appended).await?;
    sleepers(session, &server).await?;
    server.end()
}

fn binary(session: &mut Session) -> Result<()> {
    let bytes = std::env::current_exe()?.metadata()?.len();
    let figure = Figure::new("start", "size of this binary", float(bytes) / 1e6, "MB");
    session.add(figure.at_most(BINARY_MB));
    Ok(())
}

/// How long somebody alone waits for a flow that ends at once.
async fn one_connection(session: &mut Session, server: &Server) -> Result<()> {
    session.progress.step("one connection, start with wait", 0);
    let calls = calls(server, "/instances?wait=PT10S", "ends", 1);
    calls.for_time(session.warm_up()).await?;
    let load = calls.for_time(session.time()).await?;
    let sync = session.sync_p50_ms();
    let p50 = load.latency.percentile(50.0);
    let name = "start?wait of a flow that ends at once, p50";
    session
        .add(Figure::new("one connection", name, p50, "ms").of("fdatasync p50", sync).at_most(5.0));
    let p99 = load.latency.percentile(99.0);
    session.add(Figure::new("one connection", "… p99", p99, "ms"));
    Ok(())
}

/// Flows that end at once.
async fn ends(
    session: &mut Session,
    server: &Server,
    connections: usize,
    appended: f64,
) -> Result<()> {
    session.progress.step(format!("flows that end at once, {connections} connections"), 0);
    let calls = calls(server, "/instances", "ends", connections);
    calls.for_time(session.warm_up()).await?;
    let before = server.processor_ms();
    let load = calls.for_time(session.time()).await?;
    let name = format!("flows that end at once, {connections} connections");
    let mut figure = Figure::new("ends", name, load.per_second(), "/s")
        .of(session.common.db.baselines().0, appended);
    if connections == MANY {
        figure = figure.at_least(0.2);
    }
    session.add(figure);
    latency(session, "ends", &load);
    usage(session, "ends", server, before, load.seconds);
    Ok(())
}

/// Flows of one task, from start to completion; a few of the connections are the workers'.
async fn task(
    session: &mut Session,
    server: &Server,
    connections: usize,
    appended: f64,
) -> Result<f64> {
    session.progress.step(format!("flows of one task, {connections} connections"), 0);
    let workers = WORKERS.min(connections);
    let starters = (connections - workers).max(1);
    let places = Arc::new(Semaphore::new(AHEAD));
    let working = Workers::begin(server.address, workers, Some(&places));
    let calls = Calls { places: Some(places), ..calls(server, "/instances", "task", starters) };
    calls.for_time(session.warm_up()).await?;
    let (before, done, watch) = (server.processor_ms(), working.done(), Stopwatch::start());
    let load = calls.for_time(session.time()).await?;
    let rate = count(working.done() - done) / watch.elapsed().as_secs_f64();
    working.end().await?;
    let name = format!("flows of one task, {connections} connections, batches");
    let mut figure =
        Figure::new("task", name, rate, "/s").of(session.common.db.baselines().0, appended);
    if connections == MANY {
        figure = figure.at_least(0.12);
    }
    session.add(figure);
    latency(session, "task", &load);
    usage(session, "task", server, before, load.seconds);
    drain(server).await?;
    Ok(rate)
}

/// From start to completion at half the rate that is possible.
async fn half_load(session: &mut Session, server: &Server, rate: f64) -> Result<()> {
    session.progress.step(format!("flows of one task at {rate:.0} per second"), 0);
    let working = Workers::begin(server.address, WORKERS, None);
    let calls = calls(server, "/instances?wait=PT20S", "task", MANY - WORKERS);
    let load = calls.at_rate(rate, session.time()).await?;
    working.end().await?;
    let p99 = load.latency.percentile(99.0);
    session.add(Figure::new("half load", "start to completion, rate", load.per_second(), "/s"));
    session.add(Figure::new("half load", "… p50", load.latency.percentile(50.0), "ms"));
    session.add(Figure::new("half load", "… p99", p99, "ms").at_most(100.0));
    Ok(())
}

/// Tasks that are there already, claimed and completed in batches.
async fn batches(session: &mut Session, server: &Server, appended: f64) -> Result<()> {
    let tasks = session.common.scaled(TASKS);
    session.progress.step(format!("{tasks} tasks in batches"), 0);
    calls(server, "/instances", "task", MANY).times(tasks).await?;
    let watch = Stopwatch::start();
    let working = Workers::begin(server.address, WORKERS, None);
    while working.done() < tasks {
        pause(Duration::from_millis(1)).await;
    }
    let rate = count(tasks) / watch.elapsed().as_secs_f64();
    working.end().await?;
    let name = "tasks claimed and completed, 4 connections, batches of 200";
    session.add(
        Figure::new("batches", name, rate, "/s").of(session.common.db.baselines().0, appended),
    );
    Ok(())
}

/// Sleepers: what they cost while they sleep.
async fn sleepers(session: &mut Session, server: &Server) -> Result<()> {
    let sleepers = session.common.scaled(SLEEPERS);
    session.progress.step(format!("{sleepers} sleepers"), 0);
    let load = calls(server, "/instances", "sleep", MANY).times(sleepers).await?;
    session.add(Figure::new("sleepers", format!("arming {sleepers}"), load.per_second(), "/s"));
    let before = server.processor_ms();
    pause(session.time()).await;
    usage(session, "sleepers", server, before, session.time().as_secs_f64());
    Ok(())
}

/// What was started ahead of the workers is finished, so that it does not count elsewhere.
async fn drain(server: &Server) -> Result<()> {
    let working = Workers::begin(server.address, WORKERS, None);
    let mut done = usize::MAX;
    while working.done() != done {
        done = working.done();
        pause(Duration::from_millis(200)).await;
    }
    working.end().await
}

fn calls(server: &Server, path: &str, definition: &str, connections: usize) -> Calls {
    let request = json_request(path, &format!("{{\"definition\":\"{definition}\"}}")).into();
    Calls { address: server.address, request, connections, places: None }
}

fn latency(session: &mut Session, scenario: &'static str, load: &Load) {
    session.add(Figure::new(scenario, "… start, p50", load.latency.percentile(50.0), "ms"));
    session.add(Figure::new(scenario, "… start, p99", load.latency.percentile(99.0), "ms"));
}

fn usage(
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
