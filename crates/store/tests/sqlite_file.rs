//! The identity of a SQLite file, its permissions, and damage that must be detected.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meantime_core::{DefinitionId, InstanceId, State, Timestamp};
use meantime_kernel::open::Open;
use meantime_kernel::store::{
    Class, Error, Fence, Fetched, InstanceFilter, InstanceMeta, InstanceRow, Page, Phase, Plan,
    Store, Unit, UnitResult,
};
use meantime_store::conformance::block_on;
use meantime_store::sqlite::{Options, SqliteStore};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::from_millis(5_000);

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).expect("it opens")
}

fn temp_file() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("store.db");
    (directory, path)
}

fn start(number: u64) -> Unit {
    let row = InstanceRow {
        id: InstanceId::new(number, !number),
        turn_no: 1,
        phase: Phase::Running,
        definition: DefinitionId(1),
        started_at: NOW,
        ended_at: None,
        deadline_at: None,
        state: State::new(1, vec![b'x'; 3_000]),
        open: Open::default(),
        last_history: 0,
        key: None,
        meta: InstanceMeta::default(),
    };
    Unit { fence: Fence::Insert(Arc::new(row)), ..Unit::default() }
}

fn commit(store: &SqliteStore, number: u64) -> Result<Vec<UnitResult>, Error> {
    let plan = Plan { batch: number, now: NOW, units: vec![start(number)], lease_term: None };
    block_on(store.commit(Fetched::default(), plan))
}

fn instances(store: &SqliteStore) -> Vec<InstanceRow> {
    let page = Page::first(1_000);
    block_on(store.instances(InstanceFilter::default(), page)).expect("it reads")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

#[test]
fn another_name_of_the_file_is_refused() {
    let (directory, path) = temp_file();
    let elsewhere = directory.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory");
    let (symbolic, hard) = (elsewhere.join("symbolic.db"), elsewhere.join("hard.db"));
    let store = open(&path);
    std::os::unix::fs::symlink(&path, &symbolic).expect("a link");
    std::fs::hard_link(&path, &hard).expect("a link");
    for link in [&symbolic, &hard] {
        let refused = SqliteStore::open(link, Options::default()).expect_err("it is in use");
        assert_eq!(refused.code(), "store_locked", "{}", link.display());
    }
    commit(&store, 1).expect("nothing has happened to the owner");
    drop(store);
    assert_eq!(instances(&open(&symbolic)).len(), 1);
}

fn replace(path: &Path) {
    let other = beside(path, ".other");
    std::fs::copy(path, &other).expect("it can be copied");
    std::fs::rename(&other, path).expect("it can be replaced");
}

fn remove(path: &Path) {
    std::fs::remove_file(path).expect("it can be removed");
}

#[test]
fn a_commit_to_a_file_that_was_removed_or_replaced_is_not_acknowledged() {
    for (suffix, is_replaced) in [("", false), ("", true), ("-wal", false), ("-shm", false)] {
        let (_directory, path) = temp_file();
        let store = open(&path);
        commit(&store, 1).expect("it commits");
        block_on(store.ping()).expect("it is there");
        let harm = if is_replaced { replace } else { remove };
        harm(&beside(&path, suffix));
        let unready = block_on(store.ping()).expect_err("the file is another one");
        assert_eq!(unready.code(), "store_file_replaced", "{suffix}");
        let refused = commit(&store, 2).expect_err("nobody would find it");
        assert_eq!((refused.code(), refused.class()), ("store_file_replaced", Class::Restart));
        // A file that reappears is not trusted either.
        std::fs::write(beside(&path, suffix), "").expect("it can be written");
        assert!(commit(&store, 3).is_err());
    }
}

#[test]
fn only_the_owner_can_read_what_a_store_consists_of() {
    let (directory, path) = temp_file();
    let store = open(&path);
    commit(&store, 1).expect("it commits");
    let copy = directory.path().join("copy.db");
    block_on(store.backup(&copy, NOW, |_| {})).expect("it is copied");
    let restored = directory.path().join("restored.db");
    let audit = meantime_kernel::history::AuditInfo::default();
    SqliteStore::restore(&copy, &restored, &Options::default(), NOW, &audit)
        .expect("it is restored");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory.path()).expect("it can be listed") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("it is there").permissions().mode();
        names.push(entry.file_name().into_string().expect("text"));
        assert_eq!(mode & 0o777, 0o600, "{names:?}");
    }
    names.sort();
    let expected = [
        "copy.db",
        "copy.db-shm",
        "copy.db-wal",
        "restored.db",
        "restored.db.lock",
        "store.db",
        "store.db-shm",
        "store.db-wal",
        "store.db.lock",
    ];
    assert_eq!(names, expected);
}

/// What a process that was killed after some commits leaves.
fn killed_after(commits: u64) -> (TempDir, PathBuf) {
    let (directory, path) = temp_file();
    let store = open(&path);
    for number in 1..=commits {
        commit(&store, number).expect("it commits");
    }
    let left = directory.path().join("left.db");
    for suffix in ["", "-wal"] {
        std::fs::copy(beside(&path, suffix), beside(&left, suffix)).expect("it can be copied");
    }
    (directory, left)
}

#[test]
fn a_log_that_is_damaged_before_its_last_commit_is_refused() {
    let (_directory, path) = killed_after(10);
    let log = beside(&path, "-wal");
    let mut bytes = std::fs::read(&log).expect("it can be read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&log, &bytes).expect("it can be written");
    let problems = SqliteStore::check_of(&path, &Options::default()).expect("it can be checked");
    assert!(problems.iter().any(|it| it.contains("write-ahead log is damaged")), "{problems:?}");
    let refused = SqliteStore::open(&path, Options::default()).expect_err("commits would be lost");
    assert_eq!(refused.code(), "store_corrupt");
    assert!(refused.to_string().contains("write-ahead log is damaged"), "{refused}");
    assert_eq!(std::fs::read(&log).expect("it is there"), bytes, "the log is left alone");
    let options = Options { accept_damaged_wal: true, ..Options::default() };
    let accepted = SqliteStore::open(&path, options).expect("somebody has accepted the loss");
    assert!(instances(&accepted).len() < 10);
}

#[test]
fn the_torn_last_commit_of_a_log_is_dropped_as_it_was_never_answered() {
    let (_directory, path) = killed_after(10);
    let log = beside(&path, "-wal");
    let mut bytes = std::fs::read(&log).expect("it can be read");
    let end = bytes.len();
    bytes[end - 100..].fill(0);
    std::fs::write(&log, &bytes).expect("it can be written");
    let store = open(&path);
    assert_eq!(instances(&store).len(), 9);
    // The rest of the torn commit is removed, so that the next power loss finds a clean log.
    assert_eq!(std::fs::metadata(&log).expect("it is there").len(), 0);
    commit(&store, 10).expect("it commits");
}

#[test]
fn a_damaged_row_is_listed_as_such_and_found_by_a_check() {
    let (_directory, path) = temp_file();
    let store = open(&path);
    for number in 1..=3 {
        commit(&store, number).expect("it commits");
    }
    drop(store);
    let connection = rusqlite::Connection::open(&path).expect("it opens");
    for damage in [
        "UPDATE instance SET open = x'ff' WHERE id_order = 1",
        "UPDATE instance SET meta = x'ff' WHERE id_order = 2",
    ] {
        assert_eq!(connection.execute(damage, []).expect("it can be changed"), 1);
    }
    drop(connection);
    let store = open(&path);
    let rows = instances(&store);
    let damaged: Vec<bool> = rows.iter().map(|row| row.meta.damaged.is_some()).collect();
    assert_eq!(damaged, [false, true, true], "{rows:?}");
    let problems = block_on(store.check()).expect("it can be checked");
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().all(|it| it.starts_with("in_")), "{problems:?}");
}
