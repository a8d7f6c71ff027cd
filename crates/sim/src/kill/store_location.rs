//! The store that the nodes of the kill rig use.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meantime_kernel::store::{Error, Store};
use meantime_store::postgres::cluster::{Cluster, Database, Durability, database_at};
use meantime_store::postgres::{self, PostgresStore};
use meantime_store::sqlite::{self, SqliteStore};
use tempfile::TempDir;

use crate::harness::block_on;

/// The address of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// In a SQLite file.
    Sqlite(PathBuf),
    /// In a PostgreSQL database.
    Postgres(String),
}

impl StoreLocation {
    /// Opens the store.
    pub fn open(&self) -> Result<Arc<dyn Store>, Error> {
        Ok(match self {
            Self::Sqlite(path) => Arc::new(SqliteStore::open(path, sqlite::Options::default())?),
            Self::Postgres(url) => {
                let options = postgres::Options::new(url);
                Arc::new(block_on(PostgresStore::open(options))?)
            }
        })
    }

    /// The arguments that tell a node which store to open.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        match self {
            Self::Sqlite(path) => vec!["node".into(), "--sqlite".into(), path.into()],
            Self::Postgres(url) => vec!["node".into(), "--postgres".into(), url.into()],
        }
    }
}

/// The kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// SQLite files.
    Sqlite,
    /// Databases of a private PostgreSQL cluster, with its default configuration.
    Postgres,
}

/// Creates stores, one after another.
pub(super) enum StoreFactory<'a> {
    Sqlite(&'a Path),
    Postgres(Box<Cluster>),
}

/// A store and what it needs while it is used.
pub(super) enum ScratchStore {
    Sqlite(TempDir),
    Postgres(Box<Database>),
}

impl<'a> StoreFactory<'a> {
    pub(super) fn new(kind: StoreKind, directory: &'a Path) -> Result<Self, String> {
        Ok(match kind {
            StoreKind::Sqlite => Self::Sqlite(directory),
            StoreKind::Postgres => Self::Postgres(Box::new(Cluster::start(Durability::Default)?)),
        })
    }

    /// A new and empty store.
    pub(super) fn create(&self) -> Result<ScratchStore, String> {
        Ok(match self {
            Self::Sqlite(directory) => ScratchStore::Sqlite(
                tempfile::tempdir_in(directory).map_err(|error| error.to_string())?,
            ),
            Self::Postgres(cluster) => {
                ScratchStore::Postgres(Box::new(database_at(cluster.address())?))
            }
        })
    }
}

impl ScratchStore {
    pub(super) fn location(&self) -> StoreLocation {
        match self {
            Self::Sqlite(directory) => StoreLocation::Sqlite(directory.path().join("kill.db")),
            Self::Postgres(database) => StoreLocation::Postgres(database.url().to_owned()),
        }
    }
}
