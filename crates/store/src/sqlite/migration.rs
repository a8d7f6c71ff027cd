//! Brings a file to the schema of this release, one migration per transaction.
//!
//! A file that a newer release created, or on which a migration with a different text was applied,
//! is refused. If the process is killed during a migration, its transaction is rolled back and it
//! runs again.

use meantime_kernel::store::Error;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::error::from_sqlite;
use crate::migration::{Migration, check_known, migrations};

/// "Mean" in ASCII: distinguishes our files from those of other programs.
const APPLICATION_ID: i32 = 0x4d65_616e;

const PREPARE: &str = "CREATE TABLE IF NOT EXISTS schema_migration (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,           -- of the file that was applied
    applied_at INTEGER NOT NULL     -- the store's clock then; 0 for a new file
) STRICT";
const RECORD: &str =
    "INSERT INTO schema_migration (number, name, sha256, applied_at) VALUES (?1, ?2, ?3, ?4)";
const RECORDED: &str = "SELECT sha256 FROM schema_migration WHERE number = ?1";
const IS_EMPTY: &str = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
const CLOCK: &str = "SELECT clock_at FROM node";

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

/// Runs missing migrations.
pub(super) fn migrate(connection: &mut Connection, steps: &[Migration]) -> Result<(), Error> {
    let found = check_known(version(connection)?, steps)?;
    for (number, step) in (1..).zip(steps) {
        if number <= found {
            verify(connection, number, step)?;
        } else {
            apply(connection, number, step).map_err(|error| from_sqlite(&error))?;
        }
    }
    Ok(())
}

/// The schema version of a file; 0 for a new one.
pub(super) fn version(connection: &Connection) -> Result<u32, Error> {
    let pragma = |name: &str| {
        let value = connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
        value.map_err(|error| from_sqlite(&error))
    };
    let application = pragma("application_id")?;
    let is_empty: bool =
        connection.query_row(IS_EMPTY, [], |row| row.get(0)).map_err(|e| from_sqlite(&e))?;
    if application != APPLICATION_ID && !is_empty {
        let message = "the file is a database of another program";
        return Err(Error::Corrupt(message.to_owned()));
    }
    u32::try_from(pragma("user_version")?)
        .map_err(|_| Error::Corrupt("the schema has a negative number".to_owned()))
}

fn verify(connection: &Connection, number: u32, step: &Migration) -> Result<(), Error> {
    let recorded: Option<String> = connection
        .query_row(RECORDED, [number], |row| row.get(0))
        .optional()
        .map_err(|error| from_sqlite(&error))?;
    step.verify(recorded.as_deref())
}

fn apply(connection: &mut Connection, number: u32, step: &Migration) -> rusqlite::Result<()> {
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    let clock = if number == 1 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.execute(PREPARE, [])?;
        0
    } else {
        transaction.query_row(CLOCK, [], |row| row.get::<_, i64>(0))?
    };
    transaction.execute_batch(step.sql)?;
    transaction.execute(RECORD, params![number, step.name, step.digest(), clock])?;
    transaction.pragma_update(None, "user_version", number)?;
    transaction.commit()
}
