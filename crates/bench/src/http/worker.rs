//! Workers: connections that claim many tasks and report on all of them at once.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use anyhow::{Result, anyhow, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::connection::{Connection, json_request};

/// How many tasks a claim takes.
const BATCH_SIZE: usize = 200;

/// How a worker asks for its next tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WorkerKind {
    /// Claims and completes in separate requests
    Separate,
    /// Completes and claims the next tasks in one request
    Combined,
}

/// Workers that run until they are stopped.
pub(super) struct Workers {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    thread: JoinHandle<Result<()>>,
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
    /// Starts the workers; each completed task gives back a permit.
    ///
    /// Workers get a thread of their own, as real workers are processes of their own: among the
    /// tasks of a thousand callers on one runtime, each of their steps would have to wait.
    pub(super) fn begin(
        address: SocketAddr,
        count: usize,
        permits: Option<&Arc<Semaphore>>,
    ) -> Result<Self> {
        Self::begin_kind(address, count, permits, WorkerKind::Separate)
    }

    /// The same, with workers of a kind.
    pub(super) fn begin_kind(
        address: SocketAddr,
        count: usize,
        permits: Option<&Arc<Semaphore>>,
        kind: WorkerKind,
    ) -> Result<Self> {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let worker = Worker {
            address,
            stop: stop.clone(),
            done: done.clone(),
            permits: permits.cloned(),
            kind,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let work = move || {
            runtime.block_on(async move {
                let mut connections = JoinSet::new();
                for number in 0..count {
                    connections.spawn(worker.clone().run(number));
                }
                connections.join_all().await.into_iter().collect()
            })
        };
        let thread = std::thread::Builder::new().name("workers".to_owned()).spawn(work)?;
        Ok(Self { stop, done, thread })
    }

    /// How many tasks have been completed so far.
    pub(super) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    pub(super) async fn end(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = tokio::task::spawn_blocking(move || self.thread.join()).await?;
        ended.map_err(|_| anyhow!("the workers panicked"))?
    }
}

/// One connection.
#[derive(Clone)]
struct Worker {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    permits: Option<Arc<Semaphore>>,
    kind: WorkerKind,
}

impl Worker {
    async fn run(self, number: usize) -> Result<()> {
        let mut connection = Connection::open(self.address).await?;
        let mut report = None;
        while !self.stop.load(Ordering::Relaxed) {
            let finished = match self.kind {
                WorkerKind::Separate => work(&mut connection, number).await?,
                WorkerKind::Combined => work_on(&mut connection, number, &mut report).await?,
            };
            self.done.fetch_add(finished, Ordering::Relaxed);
            if let Some(permits) = &self.permits {
                permits.add_permits(finished);
            }
        }
        Ok(())
    }
}

/// Claims once and completes what it got; returns the number of tasks.
async fn work(connection: &mut Connection, number: usize) -> Result<usize> {
    let claim = format!("{{{},\"waitMs\":500}}", claim(number));
    let body = connection.expect(&json_request("/tasks/claim", &claim), 200).await?;
    let claimed: Claimed<'_> = serde_json::from_slice(body)?;
    let Some(report) = Report::on(&claimed) else { return Ok(0) };
    let body = connection.expect(&json_request("/tasks/complete", &report.body(None)), 200).await?;
    report.check(body)
}

/// Reports on the tasks it has and claims the next ones, in one request; if it has none, waits for
/// some. Returns the number of tasks that it reported on.
async fn work_on(
    connection: &mut Connection,
    number: usize,
    next: &mut Option<Report>,
) -> Result<usize> {
    let Some(report) = next.take() else {
        let claim = format!("{{{},\"waitMs\":500}}", claim(number));
        let body = connection.expect(&json_request("/tasks/claim", &claim), 200).await?;
        *next = Report::on(&serde_json::from_slice(body)?);
        return Ok(0);
    };
    let text = report.body(Some(&claim(number)));
    let body = connection.expect(&json_request("/tasks/complete", &text), 200).await?;
    *next = Report::on(&serde_json::from_slice(body)?);
    report.check(body)
}

/// The fields of a claim.
fn claim(number: usize) -> String {
    format!("\"worker\":\"w{number}\",\"types\":[\"noop\"],\"max\":{BATCH_SIZE}")
}

/// A report on several tasks.
struct Report {
    count: usize,
    results: String,
}

impl Report {
    fn on(claimed: &Claimed<'_>) -> Option<Self> {
        let mut results = String::new();
        for (index, task) in claimed.tasks.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (id, token) = (task.id.get(), task.lease_token.get());
            // Writing to a string cannot fail.
            let _ = write!(results, "{comma}{{\"id\":{id},\"leaseToken\":{token},\"output\":1}}");
        }
        let count = claimed.tasks.len();
        (count > 0).then_some(Self { count, results })
    }

    /// The request, with the fields of a claim if it has one.
    fn body(&self, claim: Option<&str>) -> String {
        let claim = claim.map(|claim| format!(",\"claim\":{{{claim}}}")).unwrap_or_default();
        format!("{{\"results\":[{}]{claim}}}", self.results)
    }

    fn check(&self, answer: &[u8]) -> Result<usize> {
        let text = String::from_utf8_lossy(answer);
        let taken = text.matches("\"status\":200").count();
        ensure!(taken == self.count, "not all were taken: {text}");
        Ok(self.count)
    }
}
