//! The identity of a store's file: which process owns it, and whether its names still refer to it.
//!
//! ```text
//!   NAME.lock ─────────── one process per name, with links resolved
//!   the file itself ───── one process per file, whatever its name
//!   after every commit ── do the names still refer to the files that were opened?
//! ```
//!
//! A file that was removed or replaced still accepts commits, but it cannot be opened again: such a
//! commit is not acknowledged.
//!
//! The locks are `flock` locks, which belong to the open file, so they do not interfere with those
//! of SQLite, which belong to the process. SQLite loses its locks when the process closes any
//! descriptor of the file, so ours is closed last.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError, metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use meantime_kernel::store::Error;

/// Only the owner may read and write the files of a store.
const PRIVATE: u32 = 0o600;

/// The files that SQLite keeps beside the database while it is open.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// A file, independent of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
}

/// The file that a store has opened.
pub(super) struct Identity {
    path: PathBuf,
    file: Inode,
    /// The companions, from when they were first seen.
    companions: Mutex<[Option<Inode>; 2]>,
    /// The path that was found to be removed or replaced.
    replaced: OnceLock<PathBuf>,
}

/// The locks on a file. Dropped last.
pub(super) struct Ownership {
    _file: File,
    _name: File,
}

/// Makes this process the owner of a file, and creates the file if it does not exist.
pub(super) fn own(path: &Path) -> Result<(Ownership, Identity), Error> {
    let name = lock_name(path)?;
    let file = private().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| io(path, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(error) => {
            // Closing it would release the locks of SQLite in a store that this process has open.
            std::mem::forget(file);
            return Err(refused(path, error));
        }
    }
    let identity = Identity::of(path)?;
    Ok((Ownership { _file: file, _name: name }, identity))
}

/// Prevents other processes from creating or using a file of this name.
pub(super) fn lock_name(path: &Path) -> Result<File, Error> {
    let name = beside(&canonical(path), ".lock");
    let file = private().write(true).create(true).truncate(false).open(&name);
    let file = file.map_err(|error| io(&name, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(error) => Err(refused(path, error)),
    }
}

/// Creates an empty file that only its owner can read. SQLite gives the same mode to the files
/// beside it.
pub(super) fn make(path: &Path) -> Result<(), Error> {
    private().write(true).create_new(true).open(path).map(drop).map_err(|error| io(path, &error))
}

/// Options for files that only their owner can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(PRIVATE);
    options
}

/// The name of a file with links resolved.
fn canonical(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new(".")).canonicalize();
    match (directory, path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
    }
}

fn refused(path: &Path, error: TryLockError) -> Error {
    match error {
        TryLockError::WouldBlock => Error::Locked(path.display().to_string()),
        TryLockError::Error(error) => io(path, &error),
    }
}

impl Identity {
    fn of(path: &Path) -> Result<Self, Error> {
        let found = metadata(path).map_err(|error| io(path, &error))?;
        let companions = Mutex::default();
        let (path, file) = (path.to_owned(), Inode::of(&found));
        Ok(Self { path, file, companions, replaced: OnceLock::new() })
    }

    /// Fails if an earlier [`Self::check`] failed: a file that reappears is not trusted again.
    pub(super) fn check_known(&self) -> Result<(), Error> {
        self.replaced
            .get()
            .map_or(Ok(()), |path| Err(Error::FileReplaced(path.display().to_string())))
    }

    /// Fails if the file or its log was removed or replaced.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.check_known()?;
        if let Some(path) = self.find_replaced() {
            let path = self.replaced.get_or_init(|| path);
            return Err(Error::FileReplaced(path.display().to_string()));
        }
        Ok(())
    }

    fn find_replaced(&self) -> Option<PathBuf> {
        if inode(&self.path) != Some(self.file) {
            return Some(self.path.clone());
        }
        let mut known = self.companions.lock().unwrap_or_else(PoisonError::into_inner);
        for (known, suffix) in known.iter_mut().zip(COMPANIONS) {
            let path = beside(&self.path, suffix);
            let found = inode(&path);
            if known.is_some() && *known != found {
                return Some(path);
            }
            *known = found;
        }
        None
    }
}

impl Inode {
    fn of(found: &std::fs::Metadata) -> Self {
        Self { device: found.dev(), number: found.ino() }
    }
}

/// The file that a name refers to; `None` if there is none, or if it cannot be determined.
fn inode(path: &Path) -> Option<Inode> {
    metadata(path).ok().map(|found| Inode::of(&found))
}

/// Whether a process owns the file of this name.
pub(super) fn is_owned(path: &Path) -> bool {
    let lock = File::open(beside(&canonical(path), ".lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn io(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::ReadOnly,
        ErrorKind::StorageFull => Error::Full,
        _ => Error::Unavailable(format!("{}: {error}", path.display())),
    }
}
