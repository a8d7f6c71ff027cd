//! The recording: its data types, and the log that collects it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::vfs;

/// One operation on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskOp {
    /// The name of the file within the recorded directory.
    pub file: Arc<str>,
    /// The operation.
    pub kind: OpKind,
}

/// The kind of an operation on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpKind {
    /// Bytes were written.
    Write {
        /// The offset in the file.
        offset: u64,
        /// The bytes that were written.
        bytes: Vec<u8>,
    },
    /// The file was truncated.
    Truncate {
        /// The new length in bytes.
        len: u64,
    },
    /// All operations on the file that were recorded before this sync began are durable.
    Sync {
        /// The number of operations when the sync began. An operation that was recorded later ran
        /// beside the sync and may not be covered by it.
        ops_before: usize,
    },
}

/// Records the operations below a directory until it is dropped.
#[derive(Debug)]
pub struct Recorder {
    log: Arc<OpLog>,
}

/// Collects operations.
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
/// If SQLite does not accept another VFS, which no version does.
pub fn start_recording(directory: &Path) -> Recorder {
    vfs::install_vfs();
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let log = Arc::new(OpLog { directory, ops: Mutex::default() });
    lock(&OP_LOGS).push(Arc::clone(&log));
    Recorder { log }
}

impl Recorder {
    /// The number of operations so far. A commit that is acknowledged at this point may depend on
    /// all of them.
    pub fn position(&self) -> usize {
        lock(&self.log.ops).len()
    }

    /// The operations so far, in order.
    pub fn ops(&self) -> Vec<DiskOp> {
        lock(&self.log.ops).clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        lock(&OP_LOGS).retain(|log| !Arc::ptr_eq(log, &self.log));
    }
}

/// Records the operations of one file.
#[derive(Debug)]
pub(crate) struct FileRecorder {
    log: Arc<OpLog>,
    file: Arc<str>,
}

impl FileRecorder {
    /// A recorder for a file below a recorded directory.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let logs = lock(&OP_LOGS);
        let log = logs.iter().find(|log| path.starts_with(&log.directory))?;
        let name = path.strip_prefix(&log.directory).ok()?.to_str()?;
        Some(Self { log: Arc::clone(log), file: name.into() })
    }

    pub(crate) fn record(&self, kind: OpKind) {
        lock(&self.log.ops).push(DiskOp { file: Arc::clone(&self.file), kind });
    }

    /// The number of operations so far; a sync that starts now covers no later ones.
    pub(crate) fn position(&self) -> usize {
        lock(&self.log.ops).len()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
