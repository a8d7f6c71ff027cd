//! The pool of read-only connections.
//!
//! Reads run on the caller's thread: most take a few microseconds, less than handing them to
//! another thread would. A connection is used by one read at a time; when all are in use, the next
//! read waits for one.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use meantime_kernel::store::Error;
use rusqlite::Connection;

use super::db::Db;
use super::open;
use super::options::Options;

pub(super) struct Readers {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

impl Readers {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let connections = (0..options.readers.max(1)).map(|_| open::reader(path, options));
        let idle = Mutex::new(connections.collect::<Result<_, Error>>()?);
        Ok(Self { idle, returned: Condvar::new() })
    }

    /// Runs a read in a transaction of its own: it sees one state, with every commit that was
    /// answered before.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Db<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let lent = self.lend();
        let Some(connection) = &lent.connection else {
            return Err(Error::Bug("a reader without a connection".to_owned()));
        };
        let db = Db::new(connection);
        db.run("BEGIN", [])?;
        let result = read(&db);
        // Nothing was written; ending the read cannot lose anything.
        let ended = db.run("COMMIT", []);
        result.and_then(|value| ended.map(|_| value))
    }

    fn lend(&self) -> Lent<'_> {
        let mut idle = self.idle();
        loop {
            if let Some(connection) = idle.pop() {
                return Lent { pool: self, connection: Some(connection) };
            }
            idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // A list of connections cannot be left half changed.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that returns to the pool by itself, whatever the read did.
struct Lent<'a> {
    pool: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            if !connection.is_autocommit() {
                // Only a panic or an error left it open; the next BEGIN would fail otherwise.
                let _ = connection.execute_batch("ROLLBACK");
            }
            self.pool.idle().push(connection);
            self.pool.returned.notify_one();
        }
    }
}
