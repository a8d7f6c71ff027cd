//! Backup and restore: a backup is a consistent earlier state, and never acts before it is resumed
//! (P14).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use meantime_core::{DefinitionId, InstanceId, State, Timestamp};
use meantime_kernel::history::{AuditInfo, Record};
use meantime_kernel::open::Open;
use meantime_kernel::store::{
    Fence, Fetched, HistoryRow, InstanceMeta, InstanceRow, OperationKind, Page, Partition, Phase,
    Plan, Store, Unit, UnitResult, Write,
};
use meantime_store::conformance::block_on;
use meantime_store::sqlite::{Options, SqliteStore};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).expect("it opens")
}

fn temp_file() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("store.db");
    (directory, path)
}

fn ana() -> AuditInfo {
    AuditInfo { actor: "ana".to_owned(), reason: "a test".to_owned() }
}

fn id(number: u64) -> InstanceId {
    InstanceId::new(number, !number)
}

/// An instance with its history: two rows that belong together.
fn start(number: u64, size: usize) -> Unit {
    let row = InstanceRow {
        id: id(number),
        turn_no: 1,
        phase: Phase::Running,
        definition: DefinitionId(1),
        started_at: NOW,
        ended_at: None,
        deadline_at: None,
        state: State::new(1, vec![b'x'; size]),
        open: Open::default(),
        last_history: number,
        key: None,
        meta: InstanceMeta::default(),
    };
    let (instance, records) = (id(number), vec![Record::Closing]);
    let history = HistoryRow { seq: number, instance, turn_no: 1, at: NOW, previous: 0, records };
    let writes = vec![Write::History(history)];
    Unit { fence: Fence::Insert(Arc::new(row)), writes, ..Unit::default() }
}

/// Commits two instances in one plan: at any time both or none of them exist.
fn commit_pair(store: &SqliteStore, pair: u64, size: usize) {
    let units = vec![start(2 * pair, size), start(2 * pair + 1, size)];
    let plan = Plan { batch: pair, now: NOW, units, lease_term: None };
    let results = block_on(store.commit(Fetched::default(), plan)).expect("it commits");
    assert!(matches!(results[..], [UnitResult::Done(_), UnitResult::Done(_)]));
}

fn is_there(store: &SqliteStore, number: u64) -> bool {
    block_on(store.instance(id(number))).expect("it reads").is_some()
}

#[test]
fn a_backup_under_load_is_a_state_that_existed() {
    let (directory, path) = temp_file();
    let store = Arc::new(open(&path));
    for pair in 1..=500 {
        commit_pair(&store, pair, 4_000);
    }
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(500)));
    let writer = {
        let (store, stop, answered) = (store.clone(), stop.clone(), answered.clone());
        std::thread::spawn(move || {
            let mut pair = 500;
            while !stop.load(Ordering::SeqCst) {
                pair += 1;
                commit_pair(&store, pair, 1_000);
                answered.store(pair, Ordering::SeqCst);
            }
        })
    };
    for round in 0..5 {
        let copy = directory.path().join(format!("copy-{round}.db"));
        let before = answered.load(Ordering::SeqCst);
        let steps = Arc::new(AtomicU64::new(0));
        let seen = steps.clone();
        let progress = move |_| {
            seen.fetch_add(1, Ordering::SeqCst);
        };
        let done = block_on(store.backup(&copy, NOW, progress)).expect("it is copied");
        let after = answered.load(Ordering::SeqCst) + 1;
        assert_eq!(done.done, done.total);
        assert!(steps.load(Ordering::SeqCst) > 1, "it goes in steps");
        let copy = open(&copy);
        assert_eq!(block_on(copy.check()).expect("it can be checked"), Vec::<String>::new());
        // Everything that was answered before the backup is in it, and later commits are in it in
        // pairs and in order.
        let last = block_on(copy.recover(Partition::ALL)).expect("it recovers").batch;
        assert!((before..=after).contains(&last), "{before} {last} {after}");
        for pair in 1..=last {
            assert!(is_there(&copy, 2 * pair) && is_there(&copy, 2 * pair + 1), "pair {pair}");
        }
        assert!(!is_there(&copy, 2 * last + 2) && !is_there(&copy, 2 * last + 3));
        let history = block_on(copy.history(2 * last, 1)).expect("it reads");
        assert_eq!(history[0].instance, id(2 * last));
    }
    stop.store(true, Ordering::SeqCst);
    writer.join().expect("it ends");
    assert!(answered.load(Ordering::SeqCst) > 500, "writing went on");
    assert_eq!(block_on(store.check()).expect("it can be checked"), Vec::<String>::new());
}

#[test]
fn a_copy_and_what_is_restored_from_it_are_paused_with_new_epochs() {
    let (directory, path) = temp_file();
    let (copy, restored) = (directory.path().join("copy.db"), directory.path().join("new.db"));
    let store = open(&path);
    commit_pair(&store, 1, 10);
    block_on(store.backup(&copy, NOW, |_| {})).expect("it is copied");
    let running = block_on(store.recover(Partition::ALL)).expect("it recovers");
    assert_eq!((running.epoch, running.paused), (0, false));
    let later = NOW.saturating_add_millis(60_000);
    let options = Options::default();
    let made = SqliteStore::restore(&copy, &restored, &options, later, &ana()).expect("restored");
    let copied = block_on(open(&copy).recover(Partition::ALL)).expect("it recovers");
    assert!(copied.paused && copied.epoch > 0, "{copied:?}");
    let store = open(&restored);
    let recovered = block_on(store.recover(Partition::ALL)).expect("it recovers");
    assert!(recovered.paused && recovered.epoch > copied.epoch, "{recovered:?}");
    assert_eq!((recovered.epoch, recovered.batch), (made.epoch, running.batch));
    let operations = block_on(store.operations(Page::first(9))).expect("it reads");
    let kinds: Vec<OperationKind> = operations.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [OperationKind::Copied, OperationKind::Restored]);
    assert_eq!((operations[1].at, &operations[1].audit), (later, &ana()));
}

#[test]
fn restoring_the_same_copy_twice_gives_two_epochs() {
    let (directory, path) = temp_file();
    let copy = directory.path().join("copy.db");
    block_on(open(&path).backup(&copy, NOW, |_| {})).expect("it is copied");
    let restore = |name: &str, ms| {
        let at = NOW.saturating_add_millis(ms);
        let to = directory.path().join(name);
        SqliteStore::restore(&copy, to, &Options::default(), at, &ana()).expect("restored").epoch
    };
    assert!(restore("one.db", 60_000) < restore("two.db", 120_000));
}

#[test]
fn nothing_is_ever_overwritten_and_nothing_half_is_left() {
    let (directory, path) = temp_file();
    let store = open(&path);
    let there = directory.path().join("there.db");
    std::fs::write(&there, "precious").expect("it can be written");
    let error = block_on(store.backup(&there, NOW, |_| {})).expect_err("it exists");
    assert!(error.to_string().contains("exists"), "{error}");
    let options = Options::default();
    SqliteStore::restore(&path, &there, &options, NOW, &ana()).expect_err("it exists");
    assert_eq!(std::fs::read_to_string(&there).expect("it is untouched"), "precious");
    let target = directory.path().join("new.db");
    let error = SqliteStore::restore(&there, &target, &options, NOW, &ana());
    assert_eq!(error.expect_err("that is no copy").code(), "store_corrupt");
    let missing = directory.path().join("none.db");
    SqliteStore::restore(missing, &target, &options, NOW, &ana()).expect_err("it is not there");
    let left = std::fs::read_dir(directory.path()).expect("it can be listed");
    let left: Vec<String> =
        left.map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.contains(".part") || name == "new.db"), "{left:?}");
}

#[test]
fn a_damaged_copy_is_not_restored() {
    let (directory, path) = temp_file();
    let (copy, target) = (directory.path().join("copy.db"), directory.path().join("new.db"));
    let store = open(&path);
    for pair in 1..=50 {
        commit_pair(&store, pair, 2_000);
    }
    block_on(store.backup(&copy, NOW, |_| {})).expect("it is copied");
    let mut bytes = std::fs::read(&copy).expect("it can be read");
    let middle = bytes.len() / 2 / 4_096 * 4_096;
    bytes[middle..middle + 2_048].fill(0xa5);
    std::fs::write(&copy, bytes).expect("it can be written");
    let error = SqliteStore::restore(&copy, &target, &Options::default(), NOW, &ana());
    assert_eq!(error.expect_err("it is damaged").code(), "store_corrupt");
    assert!(!target.exists());
}
