//! Whether many waiting journeys slow the others down: the cost of starting, submitting and firing
//! beside few of them and beside many.
//!
//! The clock is virtual, so that firing is measured from its first instant to its last commit.

use anyhow::{Context, Result};
use meantime_kernel::clock::Stopwatch;
use serde::Deserialize;

use super::super::report::{Figure, count};
use super::super::session::Session;
use super::caller::send_each;
use super::connection::{Connection, json_request};
use super::measure::MANY_CONNECTIONS;
use super::server::{ClockKind, Server};
use super::sources::JOURNEYS;

const FEW_PARKED_JOURNEYS: usize = 100;
const PARKED_JOURNEYS: usize = 100_000;

/// Journeys that are started, submitted and woken per round.
const CALLS_PER_ROUND: usize = 5_000;

/// The fastest of these rounds counts: other work on the machine only makes a round slower.
const ROUNDS: usize = 5;

/// The largest allowed ratio of the costs beside many to those beside few.
const MAX_COST_RATIO: f64 = 1.2;

/// The fastest round of each kind, in seconds.
struct CostPerInstance {
    start: f64,
    submit: f64,
    fire: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    journey_id: String,
}

#[derive(Deserialize)]
struct Moved {
    fired: usize,
}

pub(super) async fn run(session: &mut Session) -> Result<()> {
    let server = Server::start(&session.common.db, ClockKind::Virtual, JOURNEYS).await?;
    park(&server, FEW_PARKED_JOURNEYS).await?;
    let rounds = session.common.scaled(CALLS_PER_ROUND);
    session.progress.step(format!("journeys beside {FEW_PARKED_JOURNEYS} that are parked"), 0);
    let few = cost(&server, rounds).await?;
    let parked = session.common.scaled(PARKED_JOURNEYS);
    session.progress.step(format!("parking {parked} journeys"), 0);
    park(&server, parked - FEW_PARKED_JOURNEYS).await?;
    session.progress.step(format!("journeys beside {parked} that are parked"), 0);
    let many = cost(&server, rounds).await?;
    for (what, few, many) in [
        ("starting", few.start, many.start),
        ("submitting", few.submit, many.submit),
        ("firing", few.fire, many.fire),
    ] {
        let name = format!("{what} {rounds}, beside {FEW_PARKED_JOURNEYS} that are parked");
        session.add(Figure::new("parked", name, few * 1_000.0, "ms"));
        let figure = Figure::new("parked", format!("… beside {parked}"), many * 1_000.0, "ms");
        session.add(figure.of("beside few", few * 1_000.0).at_most(MAX_COST_RATIO));
    }
    server.end()
}

/// Starts `count` journeys that wait: a third each in a wait, a webhook and a timer.
async fn park(server: &Server, count: usize) -> Result<()> {
    let third = count / 3;
    start(server, "asks", "{}", third).await?;
    start(server, "hears", "{}", third).await?;
    start(server, "naps", r#"{"time":"P300D"}"#, count - 2 * third).await?;
    Ok(())
}

async fn cost(server: &Server, count: usize) -> Result<CostPerInstance> {
    let mut best = CostPerInstance { start: f64::MAX, submit: f64::MAX, fire: f64::MAX };
    for _ in 0..ROUNDS {
        let (started, ids) = start(server, "asks", "{}", count).await?;
        best.start = best.start.min(started);
        best.submit = best.submit.min(submit(server, &ids).await?);
        start(server, "naps", r#"{"time":"PT1M"}"#, count).await?;
        best.fire = best.fire.min(fire(server, count).await?);
    }
    Ok(best)
}

/// Starts journeys; returns how long it took, and their ids.
async fn start(
    server: &Server,
    name: &str,
    body: &str,
    count: usize,
) -> Result<(f64, Vec<String>)> {
    let request = json_request(&format!("/journeys/{name}/start"), body);
    let status = if name == "naps" { 202 } else { 200 };
    let (load, answers) =
        send_each(server.address, MANY_CONNECTIONS, vec![request; count], status).await?;
    let id = |answer: &Vec<u8>| Ok(serde_json::from_slice::<Status>(answer)?.journey_id);
    Ok((load.seconds, answers.iter().map(id).collect::<Result<_>>()?))
}

async fn submit(server: &Server, ids: &[String]) -> Result<f64> {
    let request =
        |id: &String| json_request(&format!("/journeys/{id}/steps/ask"), r#"{"answer":true}"#);
    let requests = ids.iter().map(request).collect();
    let (load, _) = send_each(server.address, MANY_CONNECTIONS, requests, 200).await?;
    Ok(load.seconds)
}

async fn fire(server: &Server, expected: usize) -> Result<f64> {
    let mut connection = Connection::open(server.address).await?;
    let watch = Stopwatch::start();
    let body = connection.expect(&json_request("/clock/advance", r#"{"by":"PT2M"}"#), 200).await?;
    let seconds = watch.elapsed().as_secs_f64();
    let moved: Moved = serde_json::from_slice(body)?;
    let all = (moved.fired == expected).then_some(seconds);
    all.with_context(|| format!("{} of {} timers fired", moved.fired, count(expected)))
}
