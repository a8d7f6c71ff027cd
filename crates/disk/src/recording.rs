//! The recording: plain data, and where it is gathered.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::vfs;

/// One thing that was done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskOp {
    /// The file's name within the recorded directory.
    pub file: Arc<str>,
    /// What was done.
    pub kind: OpKind,
}

/// What was done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpKind {
    /// Bytes were written.
    Write {
        /// The offset in the file.
        offset: u64,
        /// The bytes that were written.
        bytes: Vec<u8>,
    },
    /// The file got another length.
    Truncate {
        /// The new length in bytes.
        len: u64,
    },
    /// Everything that was done to the file before is durable.
    Sync {
        /// The number of ops when it began: what came while it ran may have missed it.
        ops_before: usize,
    },
}

/// Records what happens below a directory until it is dropped.
#[derive(Debug)]
pub struct Recorder {
    log: Arc<OpLog>,
}

/// Where ops are gathered.
#[derive(Debug)]
pub(crate) struct OpLog {
    directory: PathBuf,
    ops: Mutex<Vec<DiskOp>>,
}

static OP_LOGS: Mutex<Vec<Arc<OpLog>>> = Mutex::new(Vec::new());

/// Records every SQLite file that is opened below a directory from now on.
///
/// # Panics
///
/// If SQLite refuses another file system, which no version does.
pub fn start_recording(directory: &Path) -> Recorder {
    vfs::install_vfs();
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let log = Arc::new(OpLog { directory, ops: Mutex::default() });
    lock(&OP_LOGS).push(Arc::clone(&log));
    Recorder { log }
}

impl Recorder {
    /// How many ops there are by now. What was acknowledged before may need all of them.
    pub fn position(&self) -> usize {
        lock(&self.log.ops).len()
    }

    /// The ops so far, in the order in which they were done.
    pub fn ops(&self) -> Vec<DiskOp> {
        lock(&self.log.ops).clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        lock(&OP_LOGS).retain(|log| !Arc::ptr_eq(log, &self.log));
    }
}

/// A file that is being recorded.
#[derive(Debug)]
pub(crate) struct FileRecorder {
    log: Arc<OpLog>,
    file: Arc<str>,
}

impl FileRecorder {
    /// For a file that somebody records.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let logs = lock(&OP_LOGS);
        let log = logs.iter().find(|log| path.starts_with(&log.directory))?;
        let name = path.strip_prefix(&log.directory).ok()?.to_str()?;
        Some(Self { log: Arc::clone(log), file: name.into() })
    }

    pub(crate) fn record(&self, kind: OpKind) {
        lock(&self.log.ops).push(DiskOp { file: Arc::clone(&self.file), kind });
    }

    /// How many ops there are; a sync covers no later ones.
    pub(crate) fn position(&self) -> usize {
        lock(&self.log.ops).len()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while one of them is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
