//! The server under test.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use meantime_kernel::clock::Stopwatch;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::super::bench_store::BenchStore;
use super::super::process;
use super::connection::{Connection, request};
use super::readiness_prober::is_ready_within;
use super::sources::BenchSource;

/// How long a server may take until it listens.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// The clock of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockKind {
    /// The time of day.
    Real,
    /// Moved by requests only.
    Virtual,
}

/// A running server. Dropping it kills it.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
    /// From its start until it listened with its engine running, in milliseconds.
    pub(super) ready_ms: f64,
    binary: PathBuf,
    directory: TempDir,
    db: String,
    clock: ClockKind,
}

impl Server {
    /// Starts this binary on an empty database and deploys the definitions to measure.
    pub(super) async fn start(
        bench_store: &BenchStore,
        clock: ClockKind,
        sources: &[BenchSource],
    ) -> Result<Self> {
        let binary = std::env::current_exe().context("the path of this binary is not known")?;
        Self::start_binary(&binary, bench_store, clock, sources).await
    }

    /// The same with another binary.
    pub(super) async fn start_binary(
        binary: &Path,
        bench_store: &BenchStore,
        clock: ClockKind,
        sources: &[BenchSource],
    ) -> Result<Self> {
        let (directory, db) = match bench_store {
            BenchStore::Sqlite(path) => {
                let made = tempfile::Builder::new().prefix("meantime-bench-").tempdir_in(path);
                (made?, "sqlite:meantime.db".to_owned())
            }
            BenchStore::Postgres(database) => {
                drop(database.connect_empty().await?);
                (tempfile::tempdir()?, database.url.clone())
            }
        };
        let started = SpawnedServer::new(binary, directory.path(), &db, clock)?;
        let (child, heard) = started.hear(START_TIMEOUT).await?;
        let ListeningServer { address, ready_ms } = heard.context("the server does not listen")?;
        let binary = binary.to_owned();
        let server = Self { child, address, ready_ms, binary, directory, db, clock };
        server.deploy(sources).await?;
        Ok(server)
    }

    /// Kills the server, as `kill -9` does, and starts another one on the same database. Returns
    /// how long it took to become ready, in milliseconds, or `None` if it exceeded the time limit.
    pub(super) async fn restart(&mut self, patience: Duration) -> Result<Option<f64>> {
        self.child.kill()?;
        self.child.wait()?;
        let watch = Stopwatch::start();
        let directory = self.directory.path();
        let started = SpawnedServer::new(&self.binary, directory, &self.db, self.clock)?;
        let (child, heard) = started.hear(patience).await?;
        self.child = child;
        let Some(ListeningServer { address, ready_ms }) = heard else { return Ok(None) };
        (self.address, self.ready_ms) = (address, ready_ms);
        let is_ready = is_ready_within(address, patience.saturating_sub(watch.elapsed())).await;
        Ok(is_ready.then(|| watch.elapsed().as_secs_f64() * 1_000.0))
    }

    /// Deploys definitions.
    pub(super) async fn deploy(&self, sources: &[BenchSource]) -> Result<()> {
        let mut connection = Connection::open(self.address).await?;
        for BenchSource { name, media_type, text } in sources {
            let path = format!("/definitions?name={name}");
            connection.expect(&request(&path, media_type, text), 201).await?;
        }
        Ok(())
    }

    /// Kills the server and removes its files.
    pub(super) fn end(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        std::fs::remove_dir_all(self.directory.path()).context("cannot remove the database")
    }

    /// Resident memory, in bytes.
    pub(super) fn resident_bytes(&self) -> u64 {
        process::resident_bytes_of(&self.child.id().to_string())
    }

    /// Processor time used so far, in milliseconds.
    pub(super) fn processor_ms(&self) -> u64 {
        process::processor_ms_of(&self.child.id().to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that has been started, and a channel for its address.
struct SpawnedServer {
    child: Child,
    heard: oneshot::Receiver<ListeningServer>,
}

/// What the log says when the server listens.
struct ListeningServer {
    address: SocketAddr,
    ready_ms: f64,
}

impl SpawnedServer {
    fn new(binary: &Path, directory: &Path, db: &str, clock: ClockKind) -> Result<Self> {
        let watch = Stopwatch::start();
        let virtual_clock: &[&str] = match clock {
            ClockKind::Real => &[],
            ClockKind::Virtual => &["--virtual-clock"],
        };
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--db", db])
            .args(virtual_clock)
            .env("MEANTIME_LOG__FORMAT", "json")
            .env("MEANTIME_LOG__LEVEL", "info")
            .current_dir(directory)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let mut lines = BufReader::new(child.stderr.take().context("it has no output")?).lines();
        let (say, heard) = oneshot::channel();
        std::thread::spawn(move || {
            let address = lines.by_ref().map_while(Result::ok).find_map(|line| address_of(&line));
            let ready_ms = watch.elapsed().as_secs_f64() * 1_000.0;
            // The receiver is gone if the time limit was exceeded.
            let _ = address.map(|address| say.send(ListeningServer { address, ready_ms }));
            // Keeps reading the log: a full pipe would block the server.
            lines.map_while(Result::ok).for_each(drop);
        });
        Ok(Self { child, heard })
    }

    /// Waits until the server listens. If it ends or exceeds the time limit, it is killed.
    async fn hear(mut self, patience: Duration) -> Result<(Child, Option<ListeningServer>)> {
        let heard = tokio::time::timeout(patience, self.heard).await;
        let heard = heard.ok().and_then(Result::ok);
        if heard.is_none() {
            self.child.kill()?;
            self.child.wait()?;
        }
        Ok((self.child, heard))
    }
}

/// The address, if a line of the log names it.
fn address_of(line: &str) -> Option<SocketAddr> {
    let entry: serde_json::Value = serde_json::from_str(line).ok()?;
    entry["fields"]["address"].as_str()?.parse().ok()
}
