//! Clients that send poison in the background.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use meantime_kernel::clock::Stopwatch;
use serde::Deserialize;
use tokio::task::JoinSet;

use super::super::starters::pause;
use super::connection::{Connection, get_request, request};
use super::poison::{PoisonVariant, VariantDefinition};
use super::steady_load::ask;

/// A client sends its next request when it has its answer, and no sooner than this: the bench shows
/// what single requests do, not a flood of them.
const REQUEST_INTERVAL: Duration = Duration::from_millis(500);

/// How long a deploy may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Running clients. Dropping them stops them.
pub(super) struct Pressure {
    counts: Arc<Counts>,
    _clients: JoinSet<()>,
}

#[derive(Default)]
struct Counts {
    sent: AtomicUsize,
    good: AtomicUsize,
    other: AtomicUsize,
}

/// The result of a deploy.
pub(super) enum DeployOutcome {
    /// The definition is deployed, or the variant has none.
    Yes,
    /// The server refused it with this code.
    Refused(String),
    /// The server did not answer.
    Silent,
}

#[derive(Deserialize)]
struct Problem {
    code: String,
    #[serde(default)]
    diagnostics: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    code: String,
}

/// Deploys the definition of a variant.
pub(super) async fn deploy(address: SocketAddr, variant: &PoisonVariant) -> Result<DeployOutcome> {
    let Some(VariantDefinition { name, media_type, text }) = &variant.definition else {
        return Ok(DeployOutcome::Yes);
    };
    let request = request(&format!("/definitions?name={name}"), media_type, text);
    let asking = async {
        let mut connection = Connection::open(address).await?;
        let (status, body) = connection.send_and_read(&request).await?;
        if matches!(status, 200 | 201) {
            return Ok(DeployOutcome::Yes);
        }
        let problem: Problem = serde_json::from_slice(body)
            .with_context(|| format!("{name}: a deploy was answered by {status}"))?;
        let first = problem.diagnostics.into_iter().next();
        Ok(DeployOutcome::Refused(first.map_or(problem.code, |it| it.code)))
    };
    tokio::time::timeout(REQUEST_TIMEOUT, asking).await.unwrap_or(Ok(DeployOutcome::Silent))
}

/// What a client reads of the answer to a start.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartedJourney {
    journey_id: String,
}

/// Starts a journey and reads its status; returns the status of the second answer, or of the first
/// if the start was refused.
async fn start_and_read(
    connection: &mut Option<Connection>,
    address: SocketAddr,
    start: &[u8],
) -> Result<u16> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => Connection::open(address).await?,
    };
    let (mut status, body) = open.send_and_read(start).await?;
    if matches!(status, 200..300) {
        let started: StartedJourney = serde_json::from_slice(body)?;
        let read = get_request(&format!("/journeys/{}", started.journey_id));
        status = open.send(&read).await?;
    }
    *connection = Some(open);
    Ok(status)
}

impl Pressure {
    pub(super) fn begin(address: SocketAddr, variant: &PoisonVariant) -> Self {
        let (counts, requests) = (Arc::new(Counts::default()), variant.requests.clone());
        let (requests, at_most) = (Arc::new(requests), variant.at_most);
        let reads_journey = variant.reads_journey;
        let mut clients = JoinSet::new();
        for _ in 0..variant.clients {
            let (counts, requests) = (counts.clone(), requests.clone());
            clients.spawn(async move {
                let mut connection = None;
                loop {
                    let number = counts.sent.fetch_add(1, Ordering::Relaxed);
                    let Some(request) = requests.get(number % requests.len().max(1)) else { break };
                    if number >= at_most {
                        break;
                    }
                    let watch = Stopwatch::start();
                    let answered = if reads_journey {
                        start_and_read(&mut connection, address, request).await
                    } else {
                        ask(&mut connection, address, request).await
                    };
                    match answered {
                        Ok(200..300) => counts.good.fetch_add(1, Ordering::Relaxed),
                        Ok(_) => counts.other.fetch_add(1, Ordering::Relaxed),
                        Err(_) => {
                            connection = None;
                            counts.other.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                    pause(REQUEST_INTERVAL.saturating_sub(watch.elapsed())).await;
                }
            });
        }
        Self { counts, _clients: clients }
    }

    /// The results so far, in words.
    pub(super) fn words(&self, variant: &PoisonVariant) -> String {
        let read = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let (good, other) = (read(&self.counts.good), read(&self.counts.other));
        let sent = read(&self.counts.sent).min(variant.at_most);
        let open = sent.saturating_sub(good + other);
        format!("{sent} sent: {good} done, {other} refused, {open} open")
    }
}
