//! Workers: connections that claim many tasks and report on all of them at once.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::connection::{Connection, json_request};

/// How many tasks a claim takes.
const BATCH: usize = 200;

/// Workers that go on until they are told to stop.
pub(super) struct Workers {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    connections: JoinSet<Result<()>>,
}

#[derive(Deserialize)]
struct Claimed<'a> {
    #[serde(borrow)]
    tasks: Vec<Task<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    lease_token: &'a RawValue,
}

impl Workers {
    /// Begins to work; each task that is done gives back a place.
    pub(super) fn begin(
        address: SocketAddr,
        count: usize,
        places: Option<&Arc<Semaphore>>,
    ) -> Self {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut connections = JoinSet::new();
        for number in 0..count {
            let (stop, done, places) = (stop.clone(), done.clone(), places.cloned());
            connections.spawn(async move {
                let mut connection = Connection::open(address).await?;
                while !stop.load(Ordering::Relaxed) {
                    let finished = work(&mut connection, number).await?;
                    done.fetch_add(finished, Ordering::Relaxed);
                    if let Some(places) = &places {
                        places.add_permits(finished);
                    }
                }
                Ok(())
            });
        }
        Self { stop, done, connections }
    }

    /// How many tasks were done so far.
    pub(super) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    pub(super) async fn end(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.connections.join_all().await.into_iter().collect()
    }
}

/// Claims once and reports on what came; how many that were.
async fn work(connection: &mut Connection, number: usize) -> Result<usize> {
    let claim =
        format!("{{\"worker\":\"w{number}\",\"types\":[\"noop\"],\"max\":{BATCH},\"waitMs\":500}}");
    let body = connection.expect(&json_request("/tasks/claim", &claim), 200).await?;
    let claimed: Claimed<'_> = serde_json::from_slice(body)?;
    let count = claimed.tasks.len();
    if count == 0 {
        return Ok(0);
    }
    let mut report = String::from("{\"results\":[");
    for (place, task) in claimed.tasks.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let (id, token) = (task.id.get(), task.lease_token.get());
        write!(report, "{comma}{{\"id\":{id},\"leaseToken\":{token},\"output\":1}}")?;
    }
    report.push_str("]}");
    let body = connection.expect(&json_request("/tasks/complete", &report), 200).await?;
    let text = String::from_utf8_lossy(body);
    ensure!(text.matches("\"status\":200").count() == count, "not all were taken: {text}");
    Ok(count)
}
