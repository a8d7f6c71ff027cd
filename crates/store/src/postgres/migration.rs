//! Brings a database to the schema of this release, one migration per transaction.
//!
//! One process migrates at a time, the others wait for it. A database that a newer release created,
//! or on which a migration with a different text was applied, is refused. If the process is killed
//! during a migration, its transaction is rolled back and it runs again.

use meantime_kernel::store::Error;

use super::connection::{Connection, QueryError, values};
use super::lock;
use crate::migration::{Migration, check_known, migrations};
use crate::row::Columns;

const LOCK: &str = "SELECT pg_advisory_lock($1)";
const UNLOCK: &str = "SELECT pg_advisory_unlock($1)";
const PREPARE: &str = "CREATE TABLE schema_migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,           -- of the file that was applied
    applied_at bigint NOT NULL      -- the store's clock then; 0 for a new database
)";
const EXISTS: &str = "SELECT to_regclass('schema_migration') IS NOT NULL, \
     to_regclass('instance') IS NOT NULL OR to_regclass('node') IS NOT NULL";
const RECORD: &str = "INSERT INTO schema_migration (number, name, sha256, applied_at) \
     VALUES ($1, $2, $3, $4)";
const RECORDED: &str = "SELECT number, sha256 FROM schema_migration ORDER BY number";
const CLOCK: &str =
    "SELECT greatest((SELECT clock_at FROM node), (SELECT max(clock_at) FROM commit_row))";

/// Every migration, in order; the first has number 1.
pub(super) const MIGRATIONS: &[Migration] = migrations![
    "0001_init.sql",
    "0002_occurrence.sql",
    "0003_node_lease_session.sql",
    "0004_tree.sql",
    "0005_message_definitions.sql",
    "0006_definition_pause.sql",
    "0007_search.sql",
];

/// Runs missing migrations, one process at a time.
pub(super) async fn migrate(connection: &Connection, steps: &[Migration]) -> Result<(), Error> {
    // Other processes, and this one, may have much to do: no timeout.
    connection
        .script("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")
        .await?;
    connection.one(LOCK, values![lock::MIGRATION]).await?;
    let done = run(connection, steps).await;
    // If this fails, the connection is broken, and the lock is released with it.
    let unlocked = connection.one(UNLOCK, values![lock::MIGRATION]).await;
    done?;
    Ok(unlocked.map(drop)?)
}

async fn run(connection: &Connection, steps: &[Migration]) -> Result<(), Error> {
    let recorded = recorded(connection).await?;
    let found = u32::try_from(recorded.len()).unwrap_or(u32::MAX);
    check_known(found, steps)?;
    for (at, step) in steps.iter().enumerate() {
        match recorded.get(at) {
            Some(sha256) => step.verify(Some(sha256))?,
            None => apply(connection, at + 1, step).await?,
        }
    }
    Ok(())
}

/// How many migrations of this release a database has had. A database of a newer release is
/// refused.
pub(super) async fn applied(connection: &Connection) -> Result<usize, Error> {
    let recorded = recorded(connection).await?;
    check_known(u32::try_from(recorded.len()).unwrap_or(u32::MAX), MIGRATIONS)?;
    Ok(recorded.len())
}

/// The recorded hashes of the migrations of a database.
async fn recorded(connection: &Connection) -> Result<Vec<String>, Error> {
    let found = connection.one(EXISTS, Vec::new()).await?;
    let found = found.first(|row| Ok((row.flag(0)?, row.flag(1)?)))?;
    match found.unwrap_or_default() {
        (true, _) => connection.one(RECORDED, Vec::new()).await?.read(|row| row.text(1)),
        (false, false) => Ok(Vec::new()),
        (false, true) => {
            Err(Error::Corrupt("the database has tables of another program".to_owned()))
        }
    }
}

async fn apply(connection: &Connection, number: usize, step: &Migration) -> Result<(), QueryError> {
    let work = async {
        connection.script("BEGIN").await?;
        let mut clock = 0;
        if number == 1 {
            connection.script(PREPARE).await?;
        } else {
            let found = connection.one(CLOCK, Vec::new()).await?;
            clock = found.first(|row| row.integer(0))?.unwrap_or_default();
        }
        connection.script(step.sql).await?;
        let number = i32::try_from(number).unwrap_or(i32::MAX);
        connection.one(RECORD, values![number, step.name, step.digest(), clock]).await?;
        connection.script("COMMIT").await
    };
    let done = work.await;
    if done.is_err() {
        // If this fails, the connection is closed, which rolls back too.
        let _ = connection.script("ROLLBACK").await;
    }
    done
}
