//! A kernel on a new store, ready to be measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use meantime_core::{Json, Notation, Timestamp};
use meantime_kernel::clock::Clock;
use meantime_kernel::command::StartCommand;
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::machine::Notations;
use meantime_kernel::store::Store;
use meantime_store::sqlite::{Options, SqliteStore, Stats};
use tempfile::TempDir;

use super::clock::AheadClock;
use super::notation::{self, BenchNotation};
use super::place::Place;
use super::process::file_bytes;
use super::watched::Watched;

/// A running kernel and what can be seen of it.
pub(super) struct Rig {
    pub(super) kernel: Kernel,
    pub(super) store: Arc<Watched>,
    pub(super) clock: Arc<AheadClock>,
    database: Arc<Database>,
    /// Removed at the end.
    directory: Option<TempDir>,
}

/// A store that can be measured from outside.
pub(super) struct Database {
    store: Arc<SqliteStore>,
    path: PathBuf,
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let store = SqliteStore::open(path, Options::default());
        let store = Arc::new(store.with_context(|| format!("cannot open {}", path.display()))?);
        Ok(Self { store, path: path.to_owned() })
    }

    /// The store with somebody watching.
    pub(super) fn watched(self: &Arc<Self>, clock: Arc<dyn Clock>) -> Watched {
        let database = Arc::clone(self);
        let log_size = Box::new(move || file_bytes(&database.path, "-wal"));
        Watched::new(self.store.clone(), clock, log_size)
    }

    pub(super) fn stats(&self) -> Stats {
        self.store.stats()
    }

    /// Bytes on disk, without the log.
    pub(super) fn bytes(&self) -> u64 {
        file_bytes(&self.path, "")
    }
}

impl Rig {
    /// A kernel on a new database that goes away with it.
    pub(super) async fn new(place: &Place) -> Result<Self> {
        let directory = new_directory(place)?;
        let rig = Self::open(&directory.path().join("meantime.db"), 0).await?;
        Ok(Self { directory: Some(directory), ..rig })
    }

    /// The same with one more notation.
    pub(super) async fn with(
        place: &Place,
        name: &str,
        notation: Arc<dyn Notation>,
    ) -> Result<Self> {
        let directory = new_directory(place)?;
        let notations = notations().with(name, notation);
        let rig = Self::build(&directory.path().join("meantime.db"), 0, notations).await?;
        Ok(Self { directory: Some(directory), ..rig })
    }

    /// A kernel on the database in a file, with a clock that is some time ahead.
    pub(super) async fn open(path: &Path, ahead_ms: i64) -> Result<Self> {
        Self::build(path, ahead_ms, notations()).await
    }

    async fn build(path: &Path, ahead_ms: i64, notations: Notations) -> Result<Self> {
        let database = Arc::new(Database::open(path)?);
        let clock = Arc::new(AheadClock::new(ahead_ms));
        let store = Arc::new(database.watched(clock.clone()));
        let shared: Arc<dyn Store> = store.clone();
        let builder = Builder::new(shared, notations).clock(clock.clone());
        let kernel = builder.start().await.context("the kernel does not start")?;
        kernel.deploy(notation::NAME, notation::source()).await?;
        Ok(Self { kernel, store, clock, database, directory: None })
    }

    pub(super) fn stats(&self) -> Stats {
        self.database.stats()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.database.bytes()
    }

    /// Stops the kernel; what was only for this rig is removed.
    pub(super) async fn end(self) -> Result<()> {
        self.kernel.stop().await;
        self.directory.map_or(Ok(()), TempDir::close).context("cannot remove the database")
    }

    /// Sets the clock forward and tells the kernel.
    pub(super) fn set_clock(&self, instant: Timestamp) {
        self.clock.set(instant);
        self.kernel.clock_moved();
    }

    /// Waits until so many timers have fired since the rig began.
    pub(super) async fn until_fired(&self, count: u64) -> Result<()> {
        self.store.fired().wait_for(|fired| *fired >= count).await?;
        Ok(())
    }
}

pub(super) fn notations() -> Notations {
    Notations::default().with(notation::NAME, Arc::new(BenchNotation))
}

/// A directory for one scenario, removed at its end.
pub(super) fn new_directory(place: &Place) -> Result<TempDir> {
    let Place::Sqlite(directory) = place;
    let made = tempfile::Builder::new().prefix("meantime-bench-").tempdir_in(directory);
    made.with_context(|| format!("cannot make a directory in {}", directory.display()))
}

/// The start of an instance without input.
pub(super) fn start(definition: &str) -> StartCommand {
    StartCommand { definition: definition.to_owned(), ..StartCommand::default() }
}

/// The start of a sleeper.
pub(super) fn sleeper(due_at: Timestamp) -> StartCommand {
    let input = Json::of(&due_at.as_millis()).unwrap_or_default();
    StartCommand { input, ..start("sleeper") }
}
