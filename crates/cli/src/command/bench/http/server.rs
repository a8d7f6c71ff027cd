//! The server that is measured.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use meantime_kernel::clock::Stopwatch;
use tempfile::TempDir;

use super::super::place::Place;
use super::super::process;
use super::connection::{Connection, request};
use super::definitions::Source;

/// How the clock of a server goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockKind {
    /// With the time of day.
    Real,
    /// By hand.
    Virtual,
}

/// A running server. Dropping it kills it.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
    /// From its start until it listened with its engine running, in milliseconds.
    pub(super) ready_ms: f64,
    directory: TempDir,
}

impl Server {
    /// Starts this binary on an empty database and deploys what is measured.
    pub(super) async fn start(place: &Place, clock: ClockKind, sources: &[Source]) -> Result<Self> {
        let (directory, db) = match place {
            Place::Sqlite(path) => {
                let made = tempfile::Builder::new().prefix("meantime-bench-").tempdir_in(path);
                (made?, "sqlite:meantime.db".to_owned())
            }
            Place::Postgres(place) => {
                drop(place.connect_empty().await?);
                (tempfile::tempdir()?, place.url.clone())
            }
        };
        let binary = std::env::current_exe().context("the binary does not know its place")?;
        let watch = Stopwatch::start();
        let virtual_clock: &[&str] = match clock {
            ClockKind::Real => &[],
            ClockKind::Virtual => &["--virtual-clock"],
        };
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--db", &db])
            .args(virtual_clock)
            .env("MEANTIME_LOG__FORMAT", "json")
            .env("MEANTIME_LOG__LEVEL", "info")
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let mut lines = BufReader::new(child.stderr.take().context("it has no output")?).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| address_of(&line));
        let ready_ms = watch.elapsed().as_secs_f64() * 1_000.0;
        // What else it says must go somewhere.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let address = address.context("the server does not listen")?;
        let server = Self { child, address, ready_ms, directory };
        server.deploy(sources).await?;
        Ok(server)
    }

    /// Deploys definitions.
    pub(super) async fn deploy(&self, sources: &[Source]) -> Result<()> {
        let mut connection = Connection::open(self.address).await?;
        for Source { name, media_type, text } in sources {
            let path = format!("/definitions?name={name}");
            connection.expect(&request(&path, media_type, text), 201).await?;
        }
        Ok(())
    }

    /// Kills it and removes what it wrote.
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
        // It may be over already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address, if a line of the log names it.
fn address_of(line: &str) -> Option<SocketAddr> {
    let entry: serde_json::Value = serde_json::from_str(line).ok()?;
    entry["fields"]["address"].as_str()?.parse().ok()
}
