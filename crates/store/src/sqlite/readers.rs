//! Read-only connections.
//!
//! ```text
//!   single rows, what a turn needs ─► a few connections, on the caller's thread
//!   lists, long histories ──────────► threads with a connection each; the caller awaits the answer
//! ```
//!
//! Reading one row takes a few microseconds, less than passing it to another thread would. A list
//! may take as long as there are rows to skip, so it runs on another thread, and no number of lists
//! delays the kernel or the threads of the runtime. That thread has a low priority, so that long
//! lists do not take the processor from other work.

use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use meantime_kernel::store::{BoxFuture, Error};
use meantime_kernel::{pause, thread_priority};
use rusqlite::{Connection, InterruptHandle};
use tokio::sync::oneshot;

use super::db::Db;
use super::open;
use super::options::Options;

/// Connections for short reads. Two: one may wait for the disk while the other answers.
const DIRECT: usize = 2;

type ReadJob = Box<dyn FnOnce(&Connection) + Send>;

pub(super) struct Readers {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
    /// The queue of the threads, which end when it is dropped.
    lists: Option<Sender<ReadJob>>,
    threads: Vec<(InterruptHandle, JoinHandle<()>)>,
}

impl Readers {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let direct = (0..DIRECT).map(|_| open::reader(path, options));
        let idle = Mutex::new(direct.collect::<Result<_, Error>>()?);
        let (lists, work) = mpsc::channel::<ReadJob>();
        let work = Arc::new(Mutex::new(work));
        let mut threads = Vec::new();
        for _ in 0..options.readers.max(1) {
            let (connection, work) = (open::list_reader(path, options)?, Arc::clone(&work));
            let interrupt = connection.get_interrupt_handle();
            let run = move || {
                thread_priority::lower(thread_priority::current());
                pause::install();
                // The lock is held only while waiting: a thread that gets work releases it, and the
                // next one waits.
                while let Ok(read) = {
                    let work = work.lock().unwrap_or_else(PoisonError::into_inner);
                    work.recv()
                } {
                    read(&connection);
                }
            };
            let started = thread::Builder::new().name("meantime-read".to_owned()).spawn(run);
            let thread = started.map_err(|error| Error::Unavailable(error.to_string()))?;
            threads.push((interrupt, thread));
        }
        Ok(Self { idle, returned: Condvar::new(), lists: Some(lists), threads })
    }

    /// Runs a short read in its own transaction: it sees one state, with every commit that was
    /// answered before.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Db<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let pooled = self.acquire();
        let Some(connection) = &pooled.connection else {
            return Err(Error::Bug("a reader without a connection".to_owned()));
        };
        in_transaction(connection, read)
    }

    /// Runs a read that may take long, on another thread. If the caller has dropped the future by
    /// the time its turn comes, it is not run.
    pub(super) fn list<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Db<'_>) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let (sender, answer) = oneshot::channel();
        let work = move |connection: &Connection| {
            if !sender.is_closed() {
                // The caller may have dropped the future meanwhile.
                drop(sender.send(in_transaction(connection, read)));
            }
        };
        if let Some(lists) = &self.lists {
            // Without threads the sender is dropped, and the receiver gets an error.
            let _ = lists.send(Box::new(work));
        }
        let gone = || Err(Error::Bug("a reader ended early".to_owned()));
        Box::pin(async move { answer.await.unwrap_or_else(|_| gone()) })
    }

    fn acquire(&self) -> PooledReader<'_> {
        let mut idle = self.idle();
        loop {
            if let Some(connection) = idle.pop() {
                return PooledReader { pool: self, connection: Some(connection) };
            }
            idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // The list of connections is never left half changed.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_transaction<T>(
    connection: &Connection,
    read: impl FnOnce(&Db<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    if !connection.is_autocommit() {
        // A panic or an error has left the transaction open; the next BEGIN would fail.
        let _ = connection.execute_batch("ROLLBACK");
    }
    let db = Db::new(connection);
    db.run("BEGIN", [])?;
    let result = read(&db);
    // Nothing was written, so ending the read cannot lose anything.
    let ended = db.run("COMMIT", []);
    result.and_then(|value| ended.map(|_| value))
}

/// The threads close their connections before this is dropped: the writer must be the last to close
/// the file, because only the last connection checkpoints the log. Answers are not needed any more.
impl Drop for Readers {
    fn drop(&mut self) {
        self.lists = None;
        for (interrupt, thread) in self.threads.drain(..) {
            interrupt.interrupt();
            // A thread that panicked has closed its connection too.
            let _ = thread.join();
        }
    }
}

/// A connection that returns to the pool when it is dropped, whatever the read did.
struct PooledReader<'a> {
    pool: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for PooledReader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.idle().push(connection);
            self.pool.returned.notify_one();
        }
    }
}
