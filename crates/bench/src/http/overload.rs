//! `bench overload`: how a server behaves when it gets more requests than it can serve.
//!
//! ```text
//!   peak: callers that wait for their answer before they send again
//!   then half, once and three times that rate, independent of the answers:
//!
//!   request k is due at k / rate ─► the next free connection ─► accepted, or 503
//! ```
//!
//! The latency of a request that finds no free connection counts from when it was due.
//!
//! Instances with one task have targets. Starts that end at once have none: sending and rejecting
//! one costs a small machine nearly as much as serving it, so three times the peak cannot even be
//! sent from the same two cores.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use meantime_kernel::clock::Stopwatch;
use tokio::task::JoinSet;

use super::super::report::{Figure, count, float};
use super::super::sample::Sample;
use super::super::session::Session;
use super::super::starters::pause;
use super::caller::RepeatedCalls;
use super::connection::{Connection, STATUS_REFUSED, json_request};
use super::journey::ORDER;
use super::measure::{MANY_CONNECTIONS, WORKERS, starts, usage};
use super::server::{ClockKind, Server};
use super::sources::{FLOWS, JOURNEYS};
use super::worker::Workers;

/// Connections of the callers that send at a fixed rate.
const CONNECTIONS: usize = 1_024;

/// Shares of the peak.
const LOAD_SHARES: [f64; 3] = [0.5, 1.0, 3.0];

/// The kind of instance that is started.
struct Kind {
    scenario: &'static str,
    name: &'static str,
    path: &'static str,
    body: &'static str,
    status: u16,
    /// Whether workers complete tasks meanwhile.
    has_workers: bool,
}

const KINDS: [Kind; 3] = [
    Kind {
        scenario: "tasks",
        name: "flows of one task, start to completion",
        path: "/instances?wait=PT20S",
        body: r#"{"definition":"task"}"#,
        status: 201,
        has_workers: true,
    },
    Kind {
        scenario: "journeys",
        name: "journeys of three transforms and a choice",
        path: "/journeys/decide/start",
        body: ORDER,
        status: 200,
        has_workers: false,
    },
    Kind {
        scenario: "flows",
        name: "flows that end at once",
        path: "/instances",
        body: r#"{"definition":"ends"}"#,
        status: 201,
        has_workers: false,
    },
];

pub(crate) async fn run(session: &mut Session) -> Result<()> {
    let server = Server::start(&session.common.db, ClockKind::Real, FLOWS).await?;
    server.deploy(JOURNEYS).await?;
    for kind in KINDS {
        let workers =
            kind.has_workers.then(|| Workers::begin(server.address, WORKERS, None)).transpose()?;
        measure(session, &server, &kind).await?;
        if let Some(workers) = workers {
            workers.end().await?;
        }
    }
    server.end()
}

async fn measure(session: &mut Session, server: &Server, kind: &Kind) -> Result<()> {
    let scenario = kind.scenario;
    let peak = peak(session, server, kind).await?;
    let mut normal = f64::NAN;
    for share in LOAD_SHARES {
        session.progress.step(format!("{} at {share} of the peak", kind.name), 0);
        let callers = OverloadCallers::new(server.address, kind, peak * share);
        callers.call_for(session.warm_up()).await?;
        let before = server.processor_ms();
        let observations = callers.call_for(session.time()).await?;
        let is_too_much = share > 1.0;
        let good = count(observations.accepted.len()) / observations.seconds;
        let figure = Figure::new(scenario, format!("accepted at {share} of the peak"), good, "/s");
        let figure = figure.of("peak", peak);
        let has_target = is_too_much && kind.has_workers;
        session.add(if has_target { figure.at_least(0.8) } else { figure });
        let (p50, p99) =
            (observations.accepted.percentile(50.0), observations.accepted.percentile(99.0));
        normal = if share < 1.0 { p99 } else { normal };
        session.add(Figure::new(scenario, "… p50", p50, "ms"));
        let figure = Figure::new(scenario, "… p99", p99, "ms").of("half", normal);
        session.add(if has_target { figure.at_most(5.0) } else { figure });
        let refused = 100.0 * count(observations.refused.len()) / count(observations.answered());
        session.add(Figure::new(scenario, "… refused", refused, "%"));
        if observations.refused.len() > 0 {
            let p99 = observations.refused.percentile(99.0);
            session.add(Figure::new(scenario, "… refusal, p99", p99, "ms"));
        }
        let late = observations.sent.percentile(99.0);
        session.add(Figure::new(scenario, "… sent late, p99", late, "ms"));
        let sent = count(observations.answered()) / observations.seconds;
        session.add(Figure::new(scenario, "… requests", sent, "/s").of("due", peak * share));
        usage(session, scenario, server, before, observations.seconds);
    }
    Ok(())
}

/// The peak rate: callers wait for their answer before they send again.
async fn peak(session: &mut Session, server: &Server, kind: &Kind) -> Result<f64> {
    session.progress.step(format!("{}, peak", kind.name), 0);
    let calls = starts(server, kind.path, kind.body, MANY_CONNECTIONS);
    let calls = RepeatedCalls { status: kind.status, ..calls };
    calls.run_for(session.warm_up()).await?;
    let load = calls.run_for(session.time()).await?;
    let (peak, name) =
        (load.per_second(), format!("{}, {MANY_CONNECTIONS} connections", kind.name));
    session.add(Figure::new(kind.scenario, name, peak, "/s"));
    session.add(Figure::new(kind.scenario, "… p99", load.latency.percentile(99.0), "ms"));
    Ok(peak)
}

/// Callers that send at a fixed rate, independent of the answers.
struct OverloadCallers {
    address: SocketAddr,
    request: Arc<[u8]>,
    good: u16,
    per_second: f64,
}

/// The answers that callers got.
#[derive(Default)]
struct Observations {
    seconds: f64,
    /// From when a request was due to its answer, in milliseconds.
    accepted: Sample,
    refused: Sample,
    /// How late requests were sent, in milliseconds.
    sent: Sample,
}

impl Observations {
    fn answered(&self) -> usize {
        self.accepted.len() + self.refused.len()
    }
}

impl OverloadCallers {
    fn new(address: SocketAddr, kind: &Kind, per_second: f64) -> Self {
        let request = json_request(kind.path, kind.body).into();
        Self { address, request, good: kind.status, per_second }
    }

    async fn call_for(&self, time: Duration) -> Result<Observations> {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(Connection::open(self.address).await?);
        }
        let (watch, next) = (Stopwatch::start(), Arc::new(AtomicU64::new(0)));
        let mut callers = JoinSet::new();
        for mut connection in connections {
            let (next, request) = (next.clone(), self.request.clone());
            let (good, per_second) = (self.good, self.per_second);
            callers.spawn(async move {
                let mut observations = Observations::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let due = Duration::from_secs_f64(float(number) / per_second);
                    if due >= time {
                        return Ok(observations);
                    }
                    let early = due.saturating_sub(watch.elapsed());
                    if !early.is_zero() {
                        pause(early).await;
                    }
                    observations
                        .sent
                        .add(watch.elapsed().saturating_sub(due).as_secs_f64() * 1_000.0);
                    let status = connection.send(&request).await?;
                    let took = watch.elapsed().saturating_sub(due).as_secs_f64() * 1_000.0;
                    match status {
                        status if status == good => observations.accepted.add(took),
                        STATUS_REFUSED => observations.refused.add(took),
                        other => bail!("a start was answered by {other}"),
                    }
                }
            });
        }
        let mut all = Observations::default();
        for observations in callers.join_all().await {
            let observations = observations?;
            all.accepted.extend(&observations.accepted);
            all.refused.extend(&observations.refused);
            all.sent.extend(&observations.sent);
        }
        all.seconds = watch.elapsed().as_secs_f64();
        Ok(all)
    }
}
