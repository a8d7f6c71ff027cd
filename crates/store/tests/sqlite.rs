//! What only the SQLite store promises: group commit, exclusive use of the file, damage, full
//! disks.

use std::path::Path;
use std::sync::Arc;

use meantime_core::{DefinitionId, InstanceId, State, Timestamp};
use meantime_kernel::open::Open;
use meantime_kernel::store::{
    Error, Fence, Fetched, HistoryRow, InstanceFilter, InstanceMeta, InstanceRow, Page, Partition,
    Phase, Plan, Store, Unit, UnitResult, Write,
};
use meantime_store::conformance::block_on;
use meantime_store::sqlite::{Durability, Options, SqliteStore};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::from_millis(5_000);

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).expect("it opens")
}

fn temp_file() -> (TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("store.db");
    (directory, path)
}

fn instance(number: u64, size: usize) -> InstanceRow {
    InstanceRow {
        id: InstanceId::new(number, !number),
        turn_no: 1,
        phase: Phase::Running,
        definition: DefinitionId(1),
        started_at: NOW,
        ended_at: None,
        deadline_at: None,
        state: State::new(1, vec![b'x'; size]),
        open: Open::default(),
        last_history: 0,
        key: None,
        meta: InstanceMeta::default(),
    }
}

fn start(number: u64, size: usize) -> Unit {
    Unit { fence: Fence::Insert(Arc::new(instance(number, size))), ..Unit::default() }
}

fn commit(store: &SqliteStore, batch: u64, units: Vec<Unit>) -> Result<Vec<UnitResult>, Error> {
    block_on(store.commit(Fetched::default(), Plan { batch, now: NOW, units, lease_term: None }))
}

fn count(store: &SqliteStore) -> usize {
    let page = Page::first(1_000_000);
    block_on(store.instances(InstanceFilter::default(), page)).expect("it reads").len()
}

#[test]
fn concurrent_plans_share_commits() {
    let (_directory, path) = temp_file();
    let store = Arc::new(open(&path));
    let threads = (0..16_u64).map(|thread| {
        let store = Arc::clone(&store);
        std::thread::spawn(move || {
            for number in 0..50 {
                let number = 1 + thread * 1_000 + number;
                let results = commit(&store, number, vec![start(number, 10)]).expect("it commits");
                assert!(matches!(results[..], [UnitResult::Done(_)]));
                // What was answered is visible to all readers at once.
                let id = InstanceId::new(number, !number);
                assert!(block_on(store.instance(id)).expect("it reads").is_some());
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("it ends"));
    let stats = store.stats();
    assert_eq!((stats.plans, stats.units, stats.turns), (800, 800, 800));
    assert!(stats.commits < stats.plans, "{stats:?}");
    assert_eq!(count(&store), 800);
}

#[test]
fn plans_queued_together_are_one_group_and_see_each_other() {
    let (_directory, path) = temp_file();
    let store = open(&path);
    let plan = |batch, units| {
        store.commit(Fetched::default(), Plan { batch, now: NOW, units, lease_term: None })
    };
    let mut next = instance(7, 1);
    next.turn_no = 2;
    let turn = Fence::Turn { row: Arc::new(next), expected: 1 };
    let first = plan(1, vec![start(7, 1)]);
    let second = plan(2, vec![Unit { fence: turn.clone(), ..Unit::default() }]);
    let third = plan(3, vec![Unit { fence: turn, ..Unit::default() }]);
    assert!(matches!(block_on(first).expect("it commits")[..], [UnitResult::Done(_)]));
    assert!(matches!(block_on(second).expect("it commits")[..], [UnitResult::Done(_)]));
    assert_eq!(block_on(third).expect("it commits"), [UnitResult::Conflict]);
}

#[test]
fn a_plan_that_breaks_does_not_take_the_others_along() {
    let (_directory, path) = temp_file();
    let store = open(&path);
    let history = |seq| {
        let instance = InstanceId::new(1, 1);
        let row = HistoryRow { seq, instance, turn_no: 1, at: NOW, previous: 0, records: vec![] };
        Unit { writes: vec![Write::History(row)], ..Unit::default() }
    };
    let plan = |batch, units| {
        store.commit(Fetched::default(), Plan { batch, now: NOW, units, lease_term: None })
    };
    let pending = [
        plan(1, vec![history(5), start(1, 1)]),
        plan(2, vec![start(2, 1), history(5)]),
        plan(3, vec![start(3, 1)]),
    ];
    let answers = pending.map(|answer| block_on(answer).map_err(|error| error.code()));
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
    // History is never overwritten: using a number twice is a bug, and fails.
    assert_eq!(answers[1], Err("store_bug"));
    assert_eq!(count(&store), 2);
}

#[test]
fn the_file_has_one_owner() {
    let (_directory, path) = temp_file();
    let store = open(&path);
    let error = SqliteStore::open(&path, Options::default()).expect_err("it is in use");
    assert_eq!(error.code(), "store_locked");
    assert!(error.to_string().contains("store.db"), "{error}");
    drop(store);
    open(&path);
}

#[test]
fn everything_is_there_after_a_restart() {
    let (_directory, path) = temp_file();
    let store = open(&path);
    commit(&store, 4, vec![start(9, 1), start(11, 1)]).expect("it commits");
    drop(store);
    assert!(!path.with_file_name("store.db-wal").exists(), "closing empties the log");
    let store = open(&path);
    let recovered = block_on(store.recover(Partition::ALL)).expect("it recovers");
    assert_eq!((recovered.batch, recovered.seq, recovered.clock), (4, 11, NOW));
    assert!(block_on(store.is_committed(4)).expect("it reads"));
    assert_eq!(count(&store), 2);
}

#[test]
fn everything_answered_is_there_after_a_crash() {
    let (directory, path) = temp_file();
    let store = open(&path);
    let crashed = directory.path().join("crashed.db");
    for batch in 1..=20 {
        commit(&store, batch, vec![start(batch, 3_000)]).expect("it commits");
        // What a killed process leaves: the file and its log, not closed.
        for suffix in ["", "-wal"] {
            let from = format!("{}{suffix}", path.display());
            let to = format!("{}{suffix}", crashed.display());
            std::fs::copy(from, to).expect("it can be copied");
        }
        let copy = open(&crashed);
        let there = count(&copy);
        assert_eq!(u64::try_from(there).expect("it is small"), batch);
        assert_eq!(block_on(copy.check()).expect("it can be checked"), Vec::<String>::new());
    }
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let (_directory, path) = temp_file();
    std::fs::write(&path, "this is no database, however long it may be.".repeat(200))
        .expect("it can be written");
    let error = SqliteStore::open(&path, Options::default()).expect_err("it is no database");
    assert_eq!(error.code(), "store_corrupt");
    let text = std::fs::read_to_string(&path).expect("it is untouched");
    assert!(text.starts_with("this is no database"));
}

#[test]
fn a_newer_file_is_refused() {
    let (_directory, path) = temp_file();
    drop(open(&path));
    let connection = rusqlite::Connection::open(&path).expect("it opens");
    connection.pragma_update(None, "user_version", 999).expect("it can be set");
    drop(connection);
    let error = SqliteStore::open(&path, Options::default()).expect_err("it is newer");
    assert!(matches!(error, Error::NewerSchema { found: 999, .. }), "{error}");
}

#[test]
fn a_directory_that_is_missing_or_may_not_be_written_is_said_so() {
    let (directory, path) = temp_file();
    let missing = directory.path().join("none/store.db");
    let error = SqliteStore::open(missing, Options::default()).expect_err("it is missing");
    assert_eq!(error.code(), "store_unavailable");
    drop(open(&path));
    let read_only = |is: bool| {
        for path in [directory.path(), &path, &path.with_file_name("store.db.lock")] {
            let mut permissions = std::fs::metadata(path).expect("it is there").permissions();
            permissions.set_readonly(is);
            if !is {
                let mode = if path.is_dir() { 0o700 } else { 0o600 };
                std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, mode);
            }
            std::fs::set_permissions(path, permissions).expect("it is ours");
        }
    };
    read_only(true);
    // The superuser may write anywhere: then the write succeeds and there is nothing to test.
    if std::fs::write(directory.path().join("probe"), "").is_err() {
        let error = SqliteStore::open(&path, Options::default()).expect_err("it is read-only");
        assert_eq!(error.code(), "store_read_only");
    }
    read_only(false);
}

#[test]
fn a_full_disk_loses_nothing_and_heals() {
    let (_directory, path) = temp_file();
    let options = Options { max_size: Some(1 << 20), ..Options::default() };
    let store = SqliteStore::open(&path, options).expect("it opens");
    let mut committed = 0;
    let error = loop {
        match commit(&store, committed + 1, vec![start(committed + 1, 20_000)]) {
            Ok(_) => committed += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "store_full");
    let there = || u64::try_from(count(&store)).expect("it is small");
    assert!(committed > 10, "{committed}");
    assert_eq!(there(), committed, "reading goes on");
    assert!(!block_on(store.is_committed(committed + 1)).expect("it reads"));
    assert!(!store.has_failed());
    let again = commit(&store, committed + 1, vec![start(committed + 1, 20_000)]);
    assert_eq!(again.expect_err("it is still full").code(), "store_full");
    block_on(store.set_max_size(None)).expect("there is space again");
    commit(&store, committed + 1, vec![start(committed + 1, 20_000)]).expect("it commits");
    assert_eq!(there(), committed + 1);
    assert_eq!(block_on(store.check()).expect("it can be checked"), Vec::<String>::new());
}

#[test]
fn damage_is_reported_and_never_panics() {
    let (_directory, path) = temp_file();
    let store = open(&path);
    let units = (1..=400).map(|number| start(number, 500)).collect();
    commit(&store, 1, units).expect("it commits");
    drop(store);
    let sound = std::fs::read(&path).expect("it can be read");
    let pages = sound.len() / 4_096;
    for page in 1..pages {
        let mut bytes = sound.clone();
        bytes[page * 4_096..page * 4_096 + 2_048].fill(0xa5);
        std::fs::write(&path, bytes).expect("it can be written");
        let problems = match SqliteStore::open(&path, Options::default()) {
            Ok(store) => block_on(store.check()),
            Err(error) => Err(error),
        };
        match problems {
            Ok(problems) => assert!(!problems.is_empty(), "page {page} is damaged"),
            Err(error) => assert_eq!(error.code(), "store_corrupt", "{error}"),
        }
    }
}

#[test]
fn what_no_table_shows_alone_is_checked() {
    let (_directory, path) = temp_file();
    let store = open(&path);
    commit(&store, 1, vec![start(1, 1)]).expect("it commits");
    drop(store);
    let connection = rusqlite::Connection::open(&path).expect("it opens");
    let broken = "INSERT INTO timer VALUES (0, 5, 1, 1, 0, -2, 'timer', 1, 'p');
                  INSERT INTO inbox VALUES (9, 1, 9, 5, NULL, NULL, x'');";
    connection.execute_batch(broken).expect("nothing forbids it");
    drop(connection);
    let problems = block_on(open(&path).check()).expect("it can be checked");
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].ends_with("is armed and not open"), "{problems:?}");
    assert!(problems[1].ends_with("events wait for an instance that has ended"), "{problems:?}");
    assert!(problems[2].contains("a row of `inbox` cannot be read"), "{problems:?}");
}

#[test]
fn the_log_stays_short() {
    let (_directory, path) = temp_file();
    let durability = Durability::ProcessCrashOnly;
    let options = Options { wal_limit: 4 << 20, durability, ..Options::default() };
    let store = SqliteStore::open(&path, options).expect("it opens");
    let log = path.with_file_name("store.db-wal");
    for batch in 1..=400 {
        let units = (0..20).map(|number| start(batch * 100 + number, 2_000)).collect();
        commit(&store, batch, units).expect("it commits");
        let length = std::fs::metadata(&log).expect("it is there").len();
        assert!(length < 4 << 20, "{length} bytes of log");
    }
    assert!(store.stats().checkpoints > 0);
}
