//! Opens the file: connections and schema.

use std::path::Path;
use std::time::Duration;

use meantime_core::pause_point;
use meantime_kernel::store::Error;
use rusqlite::{Connection, OpenFlags};

use super::error::from_sqlite;
use super::migration::{MIGRATIONS, migrate};
use super::options::Options;

/// The size of a page of the file, in bytes.
pub(super) const PAGE: u64 = 4_096;

/// Longer than any of our locks is held; only another program could make us wait.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Cached statements per connection: more than exist.
const STATEMENTS: usize = 128;

/// Opens the connection that writes, and migrates the schema.
pub(super) fn writer(path: &Path, options: &Options) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(path, flags)?;
    if connection.is_readonly("main").map_err(|error| from_sqlite(&error))? {
        return Err(Error::ReadOnly);
    }
    let set = |name: &str, value: &dyn rusqlite::ToSql| {
        let done = connection.pragma_update(None, name, value);
        done.map_err(|error| from_sqlite(&error))
    };
    set("page_size", &size(PAGE))?;
    set("journal_mode", &"WAL")?;
    set("synchronous", &options.durability.synchronous())?;
    set("cache_size", &-kibibytes(options.writer_cache))?;
    set("wal_autocheckpoint", &0)?;
    set("journal_size_limit", &size(options.wal_limit))?;
    migrate(&mut connection, MIGRATIONS)?;
    set_max_size(&connection, options.max_size)?;
    Ok(connection)
}

/// Opens a read-only connection. The file must have been opened for writing before.
pub(super) fn reader(path: &Path, options: &Options) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(path, flags)?;
    let cache = connection.pragma_update(None, "cache_size", -kibibytes(options.reader_cache));
    cache.map_err(|error| from_sqlite(&error))?;
    Ok(connection)
}

/// Opens a connection for long lists, which pauses regularly while it reads. The other connections
/// do not pause: the kernel waits for them.
pub(super) fn list_reader(path: &Path, options: &Options) -> Result<Connection, Error> {
    let mut connection = reader(path, options)?;
    let going_on = || {
        pause_point::here();
        false
    };
    let handler = connection.progress_handler(PAUSE_OPS, Some(going_on));
    handler.map_err(|error| from_sqlite(&error))?;
    Ok(connection)
}

/// Operations of SQLite's virtual machine between two points at which a reading thread may pause.
const PAUSE_OPS: i32 = 2_000;

/// Opens the connection that checkpoints.
pub(super) fn checkpointer(path: &Path, options: &Options) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(path, flags)?;
    let synchronous = options.durability.synchronous();
    let set = connection.pragma_update(None, "synchronous", synchronous);
    set.map_err(|error| from_sqlite(&error))?;
    Ok(connection)
}

/// Sets the largest size of the file.
pub(super) fn set_max_size(connection: &Connection, bytes: Option<u64>) -> Result<(), Error> {
    let pages = bytes.map_or(i64::from(u32::MAX - 1), |bytes| size(bytes / PAGE));
    let set = connection.pragma_update(None, "max_page_count", pages);
    set.map_err(|error| from_sqlite(&error))
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| from_sqlite(&error))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| from_sqlite(&error))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    for (name, value) in [("temp_store", "MEMORY"), ("foreign_keys", "OFF")] {
        let set = connection.pragma_update(None, name, value);
        set.map_err(|error| from_sqlite(&error))?;
    }
    Ok(connection)
}

fn kibibytes(bytes: u64) -> i64 {
    size(bytes / 1_024).max(1)
}

fn size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
