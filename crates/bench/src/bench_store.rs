//! The store in which a bench keeps its data.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result};
use tokio_postgres::{Client, Config, NoTls};

/// Required prefix of the name of a database that a bench may empty.
const BENCH_DATABASE_PREFIX: &str = "meantime_bench";

/// The store to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BenchStore {
    /// New files in a directory.
    Sqlite(PathBuf),
    /// A database that is emptied before every measurement.
    Postgres(BenchDatabase),
}

/// The address of a database.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BenchDatabase {
    pub(super) url: String,
    name: String,
}

impl BenchStore {
    /// Whether it is a directory for SQLite files.
    pub(super) fn is_sqlite(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// The names of the baselines J and B on this store.
    pub(super) fn baselines(&self) -> (&'static str, &'static str) {
        match self {
            Self::Sqlite(_) => ("J", "B"),
            Self::Postgres(_) => ("JP", "BP"),
        }
    }
}

impl BenchDatabase {
    /// A connection to the database, after everything in it was removed.
    pub(super) async fn connect_empty(&self) -> Result<Client> {
        let client = self.connect().await?;
        let empty = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
        client.batch_execute(empty).await.context("the database cannot be emptied")?;
        Ok(client)
    }

    async fn connect(&self) -> Result<Client> {
        let connected = tokio_postgres::connect(&self.url, NoTls).await;
        let (client, io) = connected.with_context(|| format!("cannot connect to {self:?}"))?;
        tokio::spawn(async move {
            // An error of the connection reaches the code that uses the client.
            let _ = io.await;
        });
        Ok(client)
    }
}

impl FromStr for BenchStore {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let config = Config::from_str(text).map_err(|error| error.to_string())?;
            let name = config.get_dbname().unwrap_or_default().to_owned();
            // A guard against emptying a real database: everything in this one will be removed.
            if !name.starts_with(BENCH_DATABASE_PREFIX) {
                return Err(format!(
                    "name a database that begins with {BENCH_DATABASE_PREFIX}: it is emptied"
                ));
            }
            return Ok(Self::Postgres(BenchDatabase { url: text.to_owned(), name }));
        }
        let path = PathBuf::from(text.strip_prefix("sqlite:").unwrap_or(text));
        if path.is_dir() {
            Ok(Self::Sqlite(path))
        } else {
            Err(format!("{} is not a directory", path.display()))
        }
    }
}

impl fmt::Display for BenchStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(directory) => write!(f, "SQLite in {}", directory.display()),
            Self::Postgres(database) => write!(f, "PostgreSQL, {database:?}"),
        }
    }
}

impl fmt::Debug for BenchDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the name: the address may contain a password.
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_needed_and_a_store_must_exist() {
        assert_eq!("sqlite:.".parse(), Ok(BenchStore::Sqlite(".".into())));
        assert_eq!(".".parse(), Ok(BenchStore::Sqlite(".".into())));
        assert!("sqlite:no/such/place".parse::<BenchStore>().is_err());
    }

    #[test]
    fn only_a_database_for_benches_is_emptied() {
        let parse = |text: &str| text.parse::<BenchStore>();
        assert!(parse("postgres://me@localhost/meantime").is_err());
        assert!(parse("postgres://me@localhost").is_err());
        let bench_store = parse("postgres://me:secret@localhost/meantime_bench_1").expect("good");
        assert_eq!(bench_store.to_string(), "PostgreSQL, meantime_bench_1");
    }
}
