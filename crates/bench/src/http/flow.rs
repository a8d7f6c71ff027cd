//! `bench http`: flows that end at once, flows with one task, and sleepers.

use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;

use super::super::report::{Figure, count, float};
use super::super::sample::Sample;
use super::super::session::Session;
use super::super::starters::pause;
use super::caller::RepeatedCalls;
use super::measure::{
    MANY_CONNECTIONS, Rate, WORKERS, calls_per_second, starts, tasks_per_second, usage,
};
use super::server::{ClockKind, Server};
use super::sources::FLOWS;
use super::worker::Workers;

/// Numbers of connections, callers and workers together.
const CONNECTIONS: [usize; 3] = [1, MANY_CONNECTIONS, 256];

/// How often a server is started to measure its start-up time.
const STARTS: usize = 7;

const SLEEPING_INSTANCES: usize = 10_000;
const TASKS: usize = 20_000;

/// The largest allowed size of a release binary.
const MAX_BINARY_MB: f64 = 40.0;

pub(crate) async fn run(session: &mut Session) -> Result<()> {
    let appended = session.appended().await?;
    let server = readiness(session).await?;
    binary(session)?;
    one_connection(session, &server).await?;
    for connections in CONNECTIONS {
        let name = format!("flows that end at once, {connections} connections");
        let at_least = (connections == MANY_CONNECTIONS).then_some(0.2);
        let calls = calls(&server, "/instances", "ends", connections);
        let rate = Rate { scenario: "ends", name, at_least };
        calls_per_second(session, &server, calls, rate).await?;
    }
    let mut rate = 0.0;
    for connections in CONNECTIONS {
        let name = format!("flows of one task, {connections} connections, batches");
        let at_least = (connections == MANY_CONNECTIONS).then_some(0.12);
        let calls = calls(&server, "/instances", "task", connections);
        let found = Rate { scenario: "task", name, at_least };
        let found = tasks_per_second(session, &server, calls, found).await?;
        rate = if connections == MANY_CONNECTIONS { found } else { rate };
    }
    half_load(session, &server, rate / 2.0).await?;
    batches(session, &server, appended).await?;
    sleepers(session, &server).await?;
    server.end()
}

/// The median time until a server answers on an empty database. The last server is kept.
async fn readiness(session: &mut Session) -> Result<Server> {
    session.progress.step("servers that start", 0);
    let mut times = Sample::default();
    for _ in 1..STARTS {
        let server = Server::start(&session.common.db, ClockKind::Real, FLOWS).await?;
        times.add(server.ready_ms);
        server.end()?;
    }
    let server = Server::start(&session.common.db, ClockKind::Real, FLOWS).await?;
    times.add(server.ready_ms);
    let name = "ready after exec, empty database, p50";
    session.add(Figure::new("start", name, times.percentile(50.0), "ms").at_most(150.0));
    Ok(server)
}

fn binary(session: &mut Session) -> Result<()> {
    let bytes = std::env::current_exe()?.metadata()?.len();
    let figure = Figure::new("start", "size of this binary", float(bytes) / 1e6, "MB");
    session.add(figure.at_most(MAX_BINARY_MB));
    Ok(())
}

/// The latency of one caller alone, for a flow that ends at once.
async fn one_connection(session: &mut Session, server: &Server) -> Result<()> {
    session.progress.step("one connection, start with wait", 0);
    let calls = calls(server, "/instances?wait=PT10S", "ends", 1);
    calls.run_for(session.warm_up()).await?;
    let load = calls.run_for(session.time()).await?;
    let sync = session.sync_p50_ms();
    let p50 = load.latency.percentile(50.0);
    let name = "start?wait of a flow that ends at once, p50";
    session
        .add(Figure::new("one connection", name, p50, "ms").of("fdatasync p50", sync).at_most(5.0));
    let p99 = load.latency.percentile(99.0);
    session.add(Figure::new("one connection", "… p99", p99, "ms"));
    Ok(())
}

/// The latency from start to completion at half of the peak rate.
async fn half_load(session: &mut Session, server: &Server, rate: f64) -> Result<()> {
    session.progress.step(format!("flows of one task at {rate:.0} per second"), 0);
    let working = Workers::begin(server.address, WORKERS, None)?;
    let calls = calls(server, "/instances?wait=PT20S", "task", MANY_CONNECTIONS - WORKERS);
    let load = calls.run_at_rate(rate, session.time()).await?;
    working.end().await?;
    let p99 = load.latency.percentile(99.0);
    session.add(Figure::new("half load", "start to completion, rate", load.per_second(), "/s"));
    session.add(Figure::new("half load", "… p50", load.latency.percentile(50.0), "ms"));
    session.add(Figure::new("half load", "… p99", p99, "ms").at_most(100.0));
    Ok(())
}

/// Tasks that already exist, claimed and completed in batches.
async fn batches(session: &mut Session, server: &Server, appended: f64) -> Result<()> {
    let tasks = session.common.scaled(TASKS);
    session.progress.step(format!("{tasks} tasks in batches"), 0);
    calls(server, "/instances", "task", MANY_CONNECTIONS).times(tasks).await?;
    let watch = Stopwatch::start();
    let working = Workers::begin(server.address, WORKERS, None)?;
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

/// What sleepers cost while they sleep.
async fn sleepers(session: &mut Session, server: &Server) -> Result<()> {
    let sleepers = session.common.scaled(SLEEPING_INSTANCES);
    session.progress.step(format!("{sleepers} sleepers"), 0);
    let load = calls(server, "/instances", "sleep", MANY_CONNECTIONS).times(sleepers).await?;
    session.add(Figure::new("sleepers", format!("arming {sleepers}"), load.per_second(), "/s"));
    let before = server.processor_ms();
    pause(session.time()).await;
    usage(session, "sleepers", server, before, session.time().as_secs_f64());
    Ok(())
}

/// Calls that start one of the flows.
fn calls(server: &Server, path: &str, definition: &str, connections: usize) -> RepeatedCalls {
    starts(server, path, &format!("{{\"definition\":\"{definition}\"}}"), connections)
}
