//! `bench bpmn`: processes with a service task, with a script task, and with boundary timers.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::super::report::{Figure, count};
use super::super::session::Session;
use super::super::starters::pause;
use super::caller::RepeatedCalls;
use super::connection::{Connection, get_request, json_request};
use super::measure::{MANY_CONNECTIONS, Rate, WORKERS, calls_per_second, starts, tasks_per_second};
use super::server::{ClockKind, Server};
use super::sources::PROCESSES;
use super::worker::Workers;

/// Tasks with a boundary timer; half of the tasks are completed in time.
const GUARDED_PROCESSES: usize = 10_000;

#[derive(Deserialize)]
struct FiredTimers {
    items: Vec<serde_json::Value>,
}

pub(crate) async fn run(session: &mut Session) -> Result<()> {
    session.appended().await?;
    let server = Server::start(&session.common.db, ClockKind::Real, PROCESSES).await?;
    let name =
        format!("start, service task, gateway, end; {MANY_CONNECTIONS} connections, batches");
    let calls = start_of(&server, "routed");
    let rate = Rate { scenario: "routed", name, at_least: Some(0.10) };
    tasks_per_second(session, &server, calls, rate).await?;
    let name = format!("start, script task, gateway, end; {MANY_CONNECTIONS} connections");
    let calls = start_of(&server, "scripted");
    let rate = Rate { scenario: "scripted", name, at_least: Some(0.15) };
    calls_per_second(session, &server, calls, rate).await?;
    server.end()?;
    boundary_timers(session).await
}

/// Half of the tasks are completed in time, the timers of the others fire; no timer may remain.
async fn boundary_timers(session: &mut Session) -> Result<()> {
    let all = session.common.scaled(GUARDED_PROCESSES);
    session.progress.step(format!("{all} boundary timers, half of them cancelled"), 0);
    let server = Server::start(&session.common.db, ClockKind::Virtual, PROCESSES).await?;
    start_of(&server, "guarded").times(all / 2).await?;
    let working = Workers::begin(server.address, WORKERS, None)?;
    while working.done() < all / 2 {
        pause(Duration::from_millis(1)).await;
    }
    working.end().await?;
    let load = start_of(&server, "guarded").times(all - all / 2).await?;
    session.add(Figure::new("boundary", "armed beside a task", load.per_second(), "/s"));
    let mut connection = Connection::open(server.address).await?;
    connection.expect(&json_request("/clock/advance", r#"{"by":"PT2H"}"#), 200).await?;
    let body = connection.expect(&get_request("/timers"), 200).await?;
    let left: FiredTimers = serde_json::from_slice(body)?;
    let name = format!("timers left of {all}, half cancelled, half fired");
    session.add(Figure::new("boundary", name, count(left.items.len()), "").at_most(0.0));
    ensure!(left.items.is_empty(), "timers were left behind");
    server.end()
}

fn start_of(server: &Server, process: &str) -> RepeatedCalls {
    let body = format!("{{\"definition\":\"{process}\",\"input\":{{\"amount\":250}}}}");
    starts(server, "/instances", &body, MANY_CONNECTIONS)
}
