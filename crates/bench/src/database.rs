//! A store whose work can be counted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use meantime_kernel::clock::Clock;
use meantime_store::postgres::{self, PostgresStore};
use meantime_store::sqlite::{self, SqliteStore};

use super::bench_store::BenchDatabase;
use super::observed_store::ObservedStore;
use super::process::file_bytes;

pub(super) enum MeasuredDatabase {
    Sqlite { store: Arc<SqliteStore>, path: PathBuf },
    Postgres(Arc<PostgresStore>),
}

/// What a store has done since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) commits: u64,
    /// Units that changed something: turns, claims.
    pub(super) turns: u64,
    pub(super) statements: u64,
    /// Pages written to the log; only SQLite counts them.
    pub(super) log_pages: u64,
}

impl MeasuredDatabase {
    /// A SQLite file.
    pub(super) fn file(path: &Path) -> Result<Self> {
        let store = SqliteStore::open(path, sqlite::Options::default());
        let store = Arc::new(store.with_context(|| format!("cannot open {}", path.display()))?);
        Ok(Self::Sqlite { store, path: path.to_owned() })
    }

    /// A PostgreSQL database.
    pub(super) async fn postgres(database: &BenchDatabase) -> Result<Self> {
        let store = PostgresStore::open(postgres::Options::new(&database.url)).await;
        Ok(Self::Postgres(Arc::new(store.with_context(|| format!("cannot open {database:?}"))?)))
    }

    /// The store, wrapped so that commits and timers are measured.
    pub(super) fn observed(&self, clock: Arc<dyn Clock>) -> ObservedStore {
        match self {
            Self::Sqlite { store, path } => {
                let path = path.clone();
                ObservedStore::new(
                    store.clone(),
                    clock,
                    Box::new(move || file_bytes(&path, "-wal")),
                )
            }
            Self::Postgres(store) => ObservedStore::new(store.clone(), clock, Box::new(|| 0)),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        match self {
            Self::Sqlite { store, .. } => {
                let sqlite::Stats { commits, turns, statements, wal_pages, .. } = store.stats();
                Counts { commits, turns, statements, log_pages: wal_pages }
            }
            Self::Postgres(store) => {
                let postgres::Stats { commits, units, statements, .. } = store.stats();
                Counts { commits, turns: units, statements, log_pages: 0 }
            }
        }
    }

    /// Bytes of the SQLite file without its log; zero for PostgreSQL.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Sqlite { path, .. } => file_bytes(path, ""),
            Self::Postgres(_) => 0,
        }
    }
}
