//! A kernel on a new store, ready to be measured.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use meantime_core::{Json, Notation, Timestamp};
use meantime_kernel::command::StartCommand;
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::machine::Notations;
use meantime_kernel::store::Store;
use tempfile::TempDir;

use super::bench_store::{BenchDatabase, BenchStore};
use super::clock::OffsetClock;
use super::database::{Counts, MeasuredDatabase};
use super::notation::{self, BenchNotation};
use super::observed_store::ObservedStore;
use super::starters::pause;

/// How often a node tries to join the database.
const MAX_JOIN_ATTEMPTS: usize = 10;

/// A running kernel with its observed store and clock.
pub(super) struct KernelRig {
    pub(super) kernel: Kernel,
    pub(super) store: Arc<ObservedStore>,
    pub(super) clock: Arc<OffsetClock>,
    database: MeasuredDatabase,
    /// Removed at the end.
    directory: Option<TempDir>,
}

impl KernelRig {
    /// A kernel on a new database, which is removed with it.
    pub(super) async fn new(bench_store: &BenchStore) -> Result<Self> {
        Self::on_new_store(bench_store, notations()).await
    }

    /// Like [`Self::new`], with one more notation.
    pub(super) async fn with(
        bench_store: &BenchStore,
        name: &str,
        notation: Arc<dyn Notation>,
    ) -> Result<Self> {
        Self::on_new_store(bench_store, notations().with(name, notation)).await
    }

    /// A kernel on the database in a file, with a clock that is `offset_ms` ahead.
    pub(super) async fn open(path: &Path, offset_ms: i64) -> Result<Self> {
        Self::build(MeasuredDatabase::file(path)?, offset_ms, notations()).await
    }

    /// One more node on a database that other nodes may use.
    pub(super) async fn join(database: &BenchDatabase) -> Result<Self> {
        Self::join_with(database, &notations()).await
    }

    /// Tries several times: a busy database may answer slowly, and a node does not start before it
    /// has read the time of the database.
    async fn join_with(database: &BenchDatabase, notations: &Notations) -> Result<Self> {
        let mut tries = 0;
        loop {
            let database = MeasuredDatabase::postgres(database).await?;
            let joined = Self::build(database, 0, notations.clone()).await;
            tries += 1;
            if joined.is_ok() || tries == MAX_JOIN_ATTEMPTS {
                return joined;
            }
            pause(Duration::from_millis(500)).await;
        }
    }

    async fn on_new_store(bench_store: &BenchStore, notations: Notations) -> Result<Self> {
        match bench_store {
            BenchStore::Sqlite(_) => {
                let directory = new_bench_directory(bench_store)?;
                let database = MeasuredDatabase::file(&directory.path().join("meantime.db"))?;
                let rig = Self::build(database, 0, notations).await?;
                Ok(Self { directory: Some(directory), ..rig })
            }
            BenchStore::Postgres(database) => {
                drop(database.connect_empty().await?);
                Self::join_with(database, &notations).await
            }
        }
    }

    async fn build(
        database: MeasuredDatabase,
        offset_ms: i64,
        notations: Notations,
    ) -> Result<Self> {
        let clock = Arc::new(OffsetClock::new(offset_ms));
        let store = Arc::new(database.observed(clock.clone()));
        let shared: Arc<dyn Store> = store.clone();
        let builder = Builder::new(shared, notations).clock(clock.clone());
        let kernel = builder.start().await.context("the kernel does not start")?;
        kernel.deploy(notation::NAME, notation::source()).await?;
        Ok(Self { kernel, store, clock, database, directory: None })
    }

    pub(super) fn counts(&self) -> Counts {
        self.database.counts()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.database.bytes()
    }

    /// Stops the kernel and removes the files of this rig.
    pub(super) async fn end(self) -> Result<()> {
        self.kernel.stop().await;
        self.directory.map_or(Ok(()), TempDir::close).context("cannot remove the database")
    }

    /// Sets the clock forward and notifies the kernel.
    pub(super) fn set_clock(&self, instant: Timestamp) {
        self.clock.set(instant);
        self.kernel.clock_moved();
    }

    /// Waits until `count` timers have fired since the rig started.
    pub(super) async fn wait_until_fired(&self, count: u64) -> Result<()> {
        self.store.fired().wait_for(|fired| *fired >= count).await?;
        Ok(())
    }
}

pub(super) fn notations() -> Notations {
    Notations::default().with(notation::NAME, Arc::new(BenchNotation))
}

/// A directory for one scenario, removed at its end.
pub(super) fn new_bench_directory(bench_store: &BenchStore) -> Result<TempDir> {
    let BenchStore::Sqlite(directory) = bench_store else {
        bail!("only SQLite has files of its own")
    };
    let made = tempfile::Builder::new().prefix("meantime-bench-").tempdir_in(directory);
    made.with_context(|| format!("cannot make a directory in {}", directory.display()))
}

/// The start of an instance without input.
pub(super) fn start(definition: &str) -> StartCommand {
    StartCommand { definition: definition.to_owned(), ..StartCommand::default() }
}

/// The start of a sleeper.
pub(super) fn start_sleeper(due_at: Timestamp) -> StartCommand {
    let input = Json::of(&due_at.as_millis()).unwrap_or_default();
    StartCommand { input, ..start("sleeper") }
}
