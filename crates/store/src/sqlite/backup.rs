//! Backs up the file while it is in use, and restores a backup to a new file.
//!
//! ```text
//!   backup:   the file ── one read transaction, in steps ──► COPY.part ── pause ── sync ──► COPY
//!   restore:  COPY ────────────────────────────────────► FILE.part ── check ── pause ──► FILE
//! ```
//!
//! A backup is one consistent state: it contains everything that was answered before it began, and
//! no part of a commit. It is marked as paused with a new epoch before it gets its name, and so is
//! a restored file: an operator must resume either of them.

use std::fs::{File, remove_file, rename};
use std::io::ErrorKind;
use std::path::Path;

use meantime_core::Timestamp;
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{Error, OperationKind};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::check::integrity_of;
use super::db::Db;
use super::error::from_sqlite;
use super::identity::{self, beside};
use super::options::Options;
use super::{node, open, wal_check};

/// Pages per step: a fraction of a millisecond, so that other work gets the disk in between.
const STEP: i32 = 256;

const SNAPSHOT: &str = "BEGIN; SELECT count(*) FROM node;";

/// The progress of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes that were copied.
    pub done: u64,
    /// Bytes in all.
    pub total: u64,
}

/// The result of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// The epoch of the new file, larger than that of the backup.
    pub epoch: u32,
    /// The size of the new file.
    pub bytes: u64,
}

/// Copies a file that may be in use to a new one, which is paused.
pub(super) fn backup(
    from: &Path,
    to: &Path,
    options: &Options,
    now: Timestamp,
    progress: &mut dyn FnMut(Progress),
) -> Result<Progress, Error> {
    refuse_existing(to)?;
    let part = beside(to, ".part");
    let copied = (|| {
        let source = open::reader(from, options)?;
        let copied = copy(&source, &part, progress)?;
        drop(source);
        let audit = AuditInfo { actor: "meantime".to_owned(), reason: "backup".to_owned() };
        pause(&part, options, OperationKind::Copied, now, &audit)?;
        Ok(copied)
    })();
    finish(copied, &part, to)
}

/// Creates a new file from a backup. It is paused, with a new epoch.
pub(super) fn restore(
    from: &Path,
    to: &Path,
    options: &Options,
    now: Timestamp,
    audit: &AuditInfo,
) -> Result<Restored, Error> {
    refuse_existing(to)?;
    let _lock = identity::lock_name(to)?;
    // SQLite would silently drop the rest of a damaged log when it reads the backup.
    wal_check::inspect(&beside(from, "-wal"))?.accept(options)?;
    let part = beside(to, ".part");
    let restored = (|| {
        let source = open::reader(from, options)?;
        let copied = copy(&source, &part, &mut |_| {})?;
        drop(source);
        // Opening it for writing migrates an older schema and refuses a foreign file.
        let epoch = pause(&part, options, OperationKind::Restored, now, audit)?;
        let problems = integrity_of(&part, options)?;
        if let Some(problem) = problems.first() {
            return Err(Error::Corrupt(format!("the copy is damaged: {problem}")));
        }
        Ok(Restored { epoch, bytes: copied.total })
    })();
    finish(restored, &part, to)
}

/// Copies all pages of one state. The read transaction keeps that state: without it, every commit
/// of the writer would restart the copy.
fn copy(
    source: &Connection,
    to: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Progress, Error> {
    discard(to);
    source.execute_batch(SNAPSHOT).map_err(|error| from_sqlite(&error))?;
    identity::make(to)?;
    let mut target = Connection::open(to).map_err(|error| from_sqlite(&error))?;
    // The file counts only after it is complete, synced and named; until then nothing can be lost.
    let unsafe_is_fine = "PRAGMA synchronous = OFF";
    target.execute_batch(unsafe_is_fine).map_err(|error| from_sqlite(&error))?;
    let mut copied = Progress::default();
    let work = Backup::new(source, &mut target).map_err(|error| from_sqlite(&error))?;
    loop {
        let step = work.step(STEP).map_err(|error| from_sqlite(&error))?;
        let pages = work.progress();
        let bytes = |pages: i32| u64::try_from(pages).unwrap_or_default() * open::PAGE;
        let done = bytes(pages.pagecount - pages.remaining);
        copied = Progress { done, total: bytes(pages.pagecount).max(copied.total) };
        progress(copied);
        match step {
            StepResult::Done => break,
            StepResult::More => std::thread::yield_now(),
            _ => return Err(Error::Unavailable("the file is locked".to_owned())),
        }
    }
    drop(work);
    target.close().map_err(|(_, error)| from_sqlite(&error))?;
    source.execute_batch("COMMIT").map_err(|error| from_sqlite(&error))?;
    Ok(copied)
}

fn pause(
    path: &Path,
    options: &Options,
    kind: OperationKind,
    now: Timestamp,
    audit: &AuditInfo,
) -> Result<u32, Error> {
    let connection = open::writer(path, options)?;
    let db = Db::new(&connection);
    db.run("BEGIN IMMEDIATE", [])?;
    let epoch = node::pause(&db, kind, now, audit)?;
    db.run("COMMIT", [])?;
    // Closing the last connection checkpoints the log into the file.
    connection.close().map_err(|(_, error)| from_sqlite(&error))?;
    Ok(epoch)
}

/// Gives a complete file its name, or removes an incomplete one.
fn finish<T>(made: Result<T, Error>, part: &Path, to: &Path) -> Result<T, Error> {
    let named = made.and_then(|made| {
        let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all());
        sync(part).map_err(|error| io(part, &error))?;
        rename(part, to).map_err(|error| io(to, &error))?;
        let directory = to.parent().filter(|path| !path.as_os_str().is_empty());
        sync(directory.unwrap_or(Path::new("."))).map_err(|error| io(to, &error))?;
        Ok(made)
    });
    discard(part);
    named
}

/// Removes an incomplete file, with the files that SQLite keeps beside it.
fn discard(part: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // Usually these do not exist.
        let _ = remove_file(beside(part, suffix));
    }
}

fn refuse_existing(path: &Path) -> Result<(), Error> {
    if path.exists() {
        let message = format!("{}: the file exists", path.display());
        return Err(Error::Unavailable(message));
    }
    Ok(())
}

fn io(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull => Error::Full,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::ReadOnly,
        _ => Error::Unavailable(format!("{}: {error}", path.display())),
    }
}
