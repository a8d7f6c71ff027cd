//! Keeps the write-ahead log short without stalling the writer.
//!
//! ```text
//!   log > a sixteenth of its limit ─► thread: PASSIVE copies pages while the writer continues
//!                                        │ done
//!                                        ▼
//!   writer, between two commits: PASSIVE copies the few pages written meanwhile, so that the
//!   next commit restarts the log from its beginning
//!   log > half of its limit (a long read pinned it) ─► writer: RESTART, waits for readers
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use meantime_kernel::store::Error;
use rusqlite::Connection;

use super::error::{from_sqlite, is_failed_sync};
use super::open::{self, PAGE};
use super::options::Options;
use super::stats::SqliteCounters;

const PASSIVE: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const RESTART: &str = "PRAGMA wal_checkpoint(RESTART)";

/// The writer's view of checkpoints.
pub(super) struct Checkpoints {
    request: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    counters: Arc<SqliteCounters>,
    /// The length of the log at which the next checkpoint is due, in pages.
    next: u64,
    /// The length of the log at which the writer itself checkpoints, in pages.
    hard: u64,
    soft: u64,
    limit: u64,
}

#[derive(Default)]
struct Shared {
    /// Pages in the log after the last commit.
    pages: AtomicU64,
    is_running: AtomicBool,
    is_done: AtomicBool,
    /// Held during a checkpoint: SQLite rejects a second one at the same time instead of waiting.
    turn: Mutex<()>,
}

impl Checkpoints {
    /// Starts the thread and observes the writer's log.
    pub(super) fn start(
        path: &Path,
        options: &Options,
        writer: &mut Connection,
        counters: &Arc<SqliteCounters>,
    ) -> Result<Self, Error> {
        let connection = open::checkpointer(path, options)?;
        let shared = Arc::new(Shared::default());
        watch(writer, &shared, counters)?;
        let (request, requests) = sync_channel(1);
        let (state, count) = (Arc::clone(&shared), Arc::clone(counters));
        let thread = std::thread::Builder::new()
            .name("meantime-checkpoint".to_owned())
            .spawn(move || run(&connection, &requests, &state, &count))
            .map_err(|error| Error::Unavailable(error.to_string()))?;
        let soft = (options.wal_limit / 16 / PAGE).max(1);
        let limit = (options.wal_limit / PAGE).max(2);
        let counters = Arc::clone(counters);
        let (request, thread) = (Some(request), Some(thread));
        Ok(Self { request, thread, shared, counters, next: soft, hard: limit / 2, soft, limit })
    }

    /// Does what is due after a commit.
    pub(super) fn after_commit(&mut self, writer: &Connection) {
        let pages = self.shared.pages.load(Ordering::Relaxed);
        if pages < self.soft {
            // The log has restarted from its beginning.
            (self.next, self.hard) = (self.soft, self.limit / 2);
            return;
        }
        // A backup reads one state from beginning to end. Waiting for it would stop all commits, so
        // the log may exceed its limit meanwhile.
        if pages >= self.hard && self.counters.backups.load(Ordering::SeqCst) == 0 {
            checkpoint(writer, RESTART, &self.shared, &self.counters);
            self.hard = pages.saturating_add(self.limit / 8);
        } else if self.shared.is_done.swap(false, Ordering::SeqCst) {
            checkpoint(writer, PASSIVE, &self.shared, &self.counters);
            self.next = pages.saturating_add(self.soft);
        } else if pages >= self.next && !self.shared.is_running.swap(true, Ordering::SeqCst) {
            // `is_running` was false, so the thread is waiting and the channel is empty.
            let _ = self.request.as_ref().map(|request| request.try_send(()));
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.request = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by itself.
            drop(thread.join());
        }
    }
}

fn watch(
    writer: &mut Connection,
    shared: &Arc<Shared>,
    counters: &Arc<SqliteCounters>,
) -> Result<(), Error> {
    let (shared, counters) = (Arc::clone(shared), Arc::clone(counters));
    let hook = move |_: &mut rusqlite::hooks::Wal, pages: i32| {
        let pages = u64::try_from(pages).unwrap_or_default();
        let before = shared.pages.swap(pages, Ordering::Relaxed);
        // Fewer pages than before mean that the log has restarted from its beginning.
        let added = if pages > before { pages - before } else { pages };
        SqliteCounters::add(&counters.wal_pages, added);
        Ok(())
    };
    writer.wal_hook(Some(hook)).map_err(|error| super::error::from_sqlite(&error))
}

fn run(
    connection: &Connection,
    requests: &Receiver<()>,
    shared: &Shared,
    counters: &SqliteCounters,
) {
    while requests.recv().is_ok() {
        checkpoint(connection, PASSIVE, shared, counters);
        shared.is_done.store(true, Ordering::SeqCst);
        shared.is_running.store(false, Ordering::SeqCst);
    }
}

/// Checkpoints a log that a long read has pinned, so that the writer has less to do.
pub(super) fn after_long_read(path: &Path, options: &Options, counters: &SqliteCounters) {
    // If this fails, the writer checkpoints later, which is only slower.
    if let Ok(connection) = open::checkpointer(path, options) {
        checkpoint(&connection, PASSIVE, &Shared::default(), counters);
    }
}

/// A checkpoint that fails is repeated when the log has grown; until then the log keeps all pages.
fn checkpoint(connection: &Connection, sql: &str, shared: &Shared, counters: &SqliteCounters) {
    // The lock protects no data, so a panic leaves nothing inconsistent.
    let _turn = shared.turn.lock().unwrap_or_else(PoisonError::into_inner);
    SqliteCounters::add(&counters.checkpoints, 1);
    let done = connection.query_row(sql, [], |_| Ok(()));
    if done.is_err_and(|error| is_failed_sync(&error)) {
        counters.fail();
    }
}

/// Checkpoints the whole log and truncates it. No other connection uses the file yet.
pub(super) fn reset_wal(connection: &Connection) -> Result<(), Error> {
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    done.map_err(|error| from_sqlite(&error))
}
