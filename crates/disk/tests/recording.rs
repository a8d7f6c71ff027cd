//! The recording is complete: replaying it produces exactly the files that the system has.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use meantime_disk::{DiskOp, OpKind, start_recording};
use rusqlite::Connection;

fn replay(ops: &[DiskOp]) -> BTreeMap<Arc<str>, Vec<u8>> {
    let mut files: BTreeMap<Arc<str>, Vec<u8>> = BTreeMap::new();
    for op in ops {
        let file = files.entry(Arc::clone(&op.file)).or_default();
        match &op.kind {
            OpKind::Write { offset, bytes } => {
                let offset = usize::try_from(*offset).expect("small");
                let end = offset + bytes.len();
                file.resize(file.len().max(end), 0);
                file[offset..end].copy_from_slice(bytes);
            }
            OpKind::Truncate { len } => file.resize(usize::try_from(*len).expect("small"), 0),
            OpKind::Sync { .. } => {}
        }
    }
    files
}

fn write_rows(path: &Path, synchronous: &str) -> Connection {
    let connection = Connection::open(path).expect("a new file");
    connection.pragma_update(None, "journal_mode", "WAL").expect("WAL");
    connection.pragma_update(None, "synchronous", synchronous).expect("a mode");
    connection.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)").expect("made");
    for number in 0..100 {
        connection
            .execute("INSERT INTO t VALUES (?1, hex(randomblob(200)))", [number])
            .expect("in");
    }
    connection.query_row("PRAGMA wal_checkpoint", [], |_| Ok(())).expect("copied");
    connection
}

#[test]
fn what_was_recorded_is_what_is_on_the_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let recorder = start_recording(directory.path());
    let connection = write_rows(&directory.path().join("a.db"), "FULL");
    let files = replay(&recorder.ops());
    for name in ["a.db", "a.db-wal"] {
        let real = std::fs::read(directory.path().join(name)).expect("there");
        assert_eq!(files.get(name), Some(&real), "{name}");
    }
    drop(connection);
}

#[test]
fn a_durable_commit_syncs_the_log_once() {
    let syncs = |synchronous: &str| {
        let directory = tempfile::tempdir().expect("a directory");
        let recorder = start_recording(directory.path());
        let connection = write_rows(&directory.path().join("a.db"), synchronous);
        let before = recorder.position();
        for number in 100..150 {
            connection.execute("INSERT INTO t VALUES (?1, 'x')", [number]).expect("in");
        }
        let ops = recorder.ops();
        let is_sync =
            |op: &&DiskOp| &*op.file == "a.db-wal" && matches!(op.kind, OpKind::Sync { .. });
        ops[before..].iter().filter(is_sync).count()
    };
    // One more sync when the log restarts from its beginning.
    assert!((50..=51).contains(&syncs("FULL")));
    assert!(syncs("NORMAL") <= 1);
}

#[test]
fn other_directories_are_nobodys_business() {
    let (watched, other) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
    let recorder = start_recording(watched.path());
    drop(write_rows(&other.path().join("b.db"), "FULL"));
    assert_eq!(recorder.position(), 0);
}
