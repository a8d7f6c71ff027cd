//! The recording: plain data, and where it is gathered.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::vfs;

/// One thing that was done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// The file's name within the recorded directory.
    pub file: Arc<str>,
    /// What was done.
    pub what: What,
}

/// What was done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Bytes were written.
    Write {
        /// Where.
        offset: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// The file got another length.
    Truncate {
        /// In bytes.
        len: u64,
    },
    /// Everything that was done to the file before is durable.
    Sync {
        /// The number of ops when it began: what came while it ran may have missed it.
        begun: usize,
    },
}

/// Records what happens below a directory until it is dropped.
#[derive(Debug)]
pub struct Recorder {
    tape: Arc<Tape>,
}

/// Where ops are gathered.
#[derive(Debug)]
pub(crate) struct Tape {
    directory: PathBuf,
    ops: Mutex<Vec<Op>>,
}

static TAPES: Mutex<Vec<Arc<Tape>>> = Mutex::new(Vec::new());

/// Records every SQLite file that is opened below a directory from now on.
///
/// # Panics
///
/// If SQLite refuses another file system, which no version does.
pub fn record(directory: &Path) -> Recorder {
    vfs::install();
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let tape = Arc::new(Tape { directory, ops: Mutex::default() });
    lock(&TAPES).push(Arc::clone(&tape));
    Recorder { tape }
}

impl Recorder {
    /// How many ops there are by now. What was acknowledged before may need all of them.
    pub fn position(&self) -> usize {
        lock(&self.tape.ops).len()
    }

    /// The ops so far, in the order in which they were done.
    pub fn ops(&self) -> Vec<Op> {
        lock(&self.tape.ops).clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        lock(&TAPES).retain(|tape| !Arc::ptr_eq(tape, &self.tape));
    }
}

/// A file that is being recorded.
#[derive(Debug)]
pub(crate) struct Watch {
    tape: Arc<Tape>,
    file: Arc<str>,
}

impl Watch {
    /// For a file that somebody records.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let tapes = lock(&TAPES);
        let tape = tapes.iter().find(|tape| path.starts_with(&tape.directory))?;
        let name = path.strip_prefix(&tape.directory).ok()?.to_str()?;
        Some(Self { tape: Arc::clone(tape), file: name.into() })
    }

    pub(crate) fn note(&self, what: What) {
        lock(&self.tape.ops).push(Op { file: Arc::clone(&self.file), what });
    }

    /// How many ops there are; a sync covers no later ones.
    pub(crate) fn position(&self) -> usize {
        lock(&self.tape.ops).len()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while one of them is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
