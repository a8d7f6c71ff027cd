//! A SQLite file with the engine's settings, whose log is checkpointed as the engine does it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use anyhow::Result;
use rusqlite::{Connection, Params};

/// The log is checkpointed at this many pages: a sixteenth of 256 MiB.
const CHECKPOINT_PAGES: u64 = 4_096;

const PASSIVE_CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// A file, its connection, and a thread that runs checkpoints.
pub(super) struct File {
    connection: Connection,
    /// Pages in the log, and pages written to it in total.
    pages: Arc<AtomicU64>,
    all_pages: Arc<AtomicU64>,
    is_copying: Arc<AtomicBool>,
    is_copied: Arc<AtomicBool>,
    /// Dropping the sender ends the thread.
    request: SyncSender<()>,
}

impl File {
    pub(super) fn new(path: &Path, tables: &str) -> Result<Self> {
        let mut connection = open(path)?;
        connection.execute_batch(tables)?;
        let (pages, all_pages) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (now, all) = (pages.clone(), all_pages.clone());
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            let pages = u64::try_from(pages).unwrap_or_default();
            let before = now.swap(pages, Ordering::Relaxed);
            // A smaller number than before means that the log restarted from its beginning.
            let added = if pages > before { pages - before } else { pages };
            all.fetch_add(added, Ordering::Relaxed);
            Ok(())
        }))?;
        let (is_copying, is_copied) = (Arc::default(), Arc::default());
        let request = checkpointer(open(path)?, &is_copying, &is_copied);
        Ok(Self { connection, pages, all_pages, is_copying, is_copied, request })
    }

    /// Pages written to the log in total.
    pub(super) fn pages(&self) -> u64 {
        self.all_pages.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self) -> Result<()> {
        self.run("BEGIN IMMEDIATE", [])
    }

    pub(super) fn run(&self, sql: &str, params: impl Params) -> Result<()> {
        self.connection.prepare_cached(sql)?.execute(params)?;
        Ok(())
    }

    /// Commits, with one sync.
    pub(super) fn commit(&self) -> Result<()> {
        self.run("COMMIT", [])?;
        if self.is_copied.swap(false, Ordering::SeqCst) {
            // Copies the few pages that were committed during the checkpoint, so that the next
            // commit restarts the log.
            self.connection.query_row(PASSIVE_CHECKPOINT, [], |_| Ok(()))?;
        } else if self.pages.load(Ordering::Relaxed) >= CHECKPOINT_PAGES
            && !self.is_copying.swap(true, Ordering::SeqCst)
        {
            // Sending fails only if a request is already queued or the thread has ended.
            let _ = self.request.try_send(());
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.execute_batch(
        "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 0; \
         PRAGMA journal_size_limit = 268435456; PRAGMA temp_store = MEMORY; \
         PRAGMA foreign_keys = OFF;",
    )?;
    Ok(connection)
}

fn checkpointer(
    connection: Connection,
    is_copying: &Arc<AtomicBool>,
    is_copied: &Arc<AtomicBool>,
) -> SyncSender<()> {
    let (request, requests) = sync_channel::<()>(1);
    let (is_copying, is_copied) = (is_copying.clone(), is_copied.clone());
    std::thread::spawn(move || {
        while requests.recv().is_ok() {
            // A checkpoint that fails is tried again after the next commit.
            let _ = connection.query_row(PASSIVE_CHECKPOINT, [], |_| Ok(()));
            is_copied.store(true, Ordering::SeqCst);
            is_copying.store(false, Ordering::SeqCst);
        }
    });
    request
}
