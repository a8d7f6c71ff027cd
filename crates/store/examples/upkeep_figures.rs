//! The cost of maintenance: deleting instances, reading a long history, backing up a file in use.
//!
//! `cargo run -p meantime-store --release --example upkeep_figures [purge] [history] [backup]`
//!
//! Everything is written with full durability to files in the current directory, which are removed
//! at the end.
#![expect(clippy::print_stdout, reason = "an example talks to people")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use meantime_core::{
    DefinitionId, InstanceId, Json, Keep, Outcome, Retention, StartCause, State, Timestamp,
};
use meantime_kernel::clock::{Clock, SystemClock};
use meantime_kernel::history::{AuditInfo, Record};
use meantime_kernel::open::Open;
use meantime_kernel::store::{
    CompactRequest, Error, Fence, Fetched, HistoryRow, InstanceMeta, InstanceRow, Phase, Plan,
    PurgeRequest, Store, Unit, Write,
};
use meantime_store::conformance::block_on;
use meantime_store::sqlite::{Options, SqliteStore};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn main() -> Result<(), Error> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|it| it == name);
    let directory = std::env::current_dir().unwrap_or_default().join("upkeep_figures");
    drop(std::fs::remove_dir_all(&directory));
    std::fs::create_dir(&directory).map_err(|error| Error::Unavailable(error.to_string()))?;
    let run = || {
        if wanted("purge") {
            purge(&directory.join("purge.db"))?;
        }
        if wanted("history") {
            history(&directory.join("history.db"))?;
        }
        if wanted("backup") {
            backup(&directory)?;
        }
        Ok(())
    };
    let done = run();
    drop(std::fs::remove_dir_all(&directory));
    done
}

/// Runs something and measures its duration in milliseconds.
fn timed<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(T, i64), Error> {
    let begun = SystemClock.now().real;
    let made = work()?;
    Ok((made, SystemClock.now().real.saturating_since(begun).max(1)))
}

fn open(path: &Path) -> Result<SqliteStore, Error> {
    SqliteStore::open(path, Options::default())
}

fn id(number: u64) -> InstanceId {
    let order = NOW.as_millis().cast_unsigned() + number;
    InstanceId::new(order << 15, number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A completed instance with the two history rows of a one-task workflow.
fn ended(number: u64) -> Unit {
    let output = Json::parse("{\"receipt\":\"r-1\"}").unwrap_or_default();
    let outcome = Outcome::Completed { output, context: Json::null() };
    let row = InstanceRow {
        id: id(number),
        turn_no: 2,
        phase: Phase::Completed,
        definition: DefinitionId(1),
        started_at: NOW,
        ended_at: Some(NOW),
        deadline_at: None,
        state: State::new(1, vec![7; 80]),
        open: Open::default(),
        last_history: 2 * number + 2,
        key: None,
        meta: InstanceMeta { outcome: Some(outcome), ..InstanceMeta::default() },
    };
    let input = Json::parse("{\"order\":4711}").unwrap_or_default();
    let started = Record::Started { cause: StartCause::Api, input };
    let over = Record::Ended { phase: "completed".to_owned(), code: None };
    let writes = vec![line(id(number), 2 * number + 1, 0, started), {
        line(id(number), 2 * number + 2, 2 * number + 1, over)
    }];
    Unit { fence: Fence::Insert(Arc::new(row)), writes, ..Unit::default() }
}

fn line(instance: InstanceId, seq: u64, previous: u64, record: Record) -> Write {
    let records = vec![record];
    Write::History(HistoryRow { seq, instance, turn_no: seq, at: NOW, previous, records })
}

fn commit(store: &SqliteStore, batch: u64, units: Vec<Unit>) -> Result<(), Error> {
    block_on(store.commit(Fetched::default(), Plan { batch, now: NOW, units, lease_term: None }))
        .map(drop)
}

fn purge(path: &Path) -> Result<(), Error> {
    const COUNT: u64 = 200_000;
    let store = open(path)?;
    let ((), filled) = timed(|| {
        for batch in 0..COUNT / 500 {
            commit(&store, batch + 1, (batch * 500..(batch + 1) * 500).map(ended).collect())?;
        }
        Ok(())
    })?;
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len() >> 20);
    let retention = Arc::new(Retention::of_all(Keep::millis(1_000)));
    let now = NOW.saturating_add_millis(1_000_000);
    for limit in [1_000, 4_000] {
        let before = store.stats();
        let ((instances, rows), spent) = timed(|| {
            let (mut instances, mut rows) = (0, 0);
            while instances < usize::try_from(COUNT / 3).unwrap_or_default() {
                let retention = retention.clone();
                let request = PurgeRequest { now, retention, limit };
                let purged = block_on(store.purge(request))?;
                (instances, rows) = (instances + purged.instances, rows + purged.rows());
            }
            Ok((instances, rows))
        })?;
        let after = store.stats();
        let (commits, pages) = (after.commits - before.commits, after.wal_pages - before.wal_pages);
        let rate = |count: usize| i64::try_from(count).unwrap_or_default() * 1_000 / spent;
        println!(
            "purge, {limit} rows a time: {} instances/s, {} rows/s, {} ms a time, {} bytes of log \
             an instance",
            rate(instances),
            rate(rows),
            spent / i64::try_from(commits).unwrap_or(1).max(1),
            pages * 4_120 / u64::try_from(instances).unwrap_or(1).max(1),
        );
    }
    println!("       (filled in {filled} ms; the file has {} MiB)", size(path));
    Ok(())
}

fn history(path: &Path) -> Result<(), Error> {
    const TURNS: u64 = 50_000;
    let store = open(path)?;
    let others = 20;
    let turn = |number: u64, instance: InstanceId, step: u64| {
        let record = Record::Event {
            name: "signal".to_owned(),
            key: Some(instance.effect(number, 0)),
            note: Some("approved".to_owned()),
            taken: true,
            message: None,
            attempt: None,
            worker: None,
        };
        let previous = number.saturating_sub(step);
        line(instance, number, previous, record)
    };
    // Turns of other instances in between, so that the rows of one instance are far apart.
    for batch in 0..TURNS / 100 {
        let mut writes = Vec::new();
        for number in batch * 100..(batch + 1) * 100 {
            for other in 0..=others {
                let seq = (number + 1) * 100 + other;
                writes.push(turn(seq, id(other), if number == 0 { seq } else { 100 }));
            }
        }
        commit(&store, batch + 1, vec![Unit { writes, ..Unit::default() }])?;
    }
    let row = InstanceRow {
        id: id(0),
        turn_no: TURNS,
        phase: Phase::Running,
        definition: DefinitionId(1),
        started_at: NOW,
        ended_at: None,
        deadline_at: None,
        state: State::new(1, vec![7; 80]),
        open: Open::default(),
        last_history: TURNS * 100,
        key: None,
        meta: InstanceMeta::default(),
    };
    commit(&store, TURNS, vec![Unit { fence: Fence::Insert(Arc::new(row)), ..Unit::default() }])?;
    drop(store);
    // A new process: nothing is cached.
    let store = open(path)?;
    for (name, from, limit) in [
        ("the newest 100", TURNS * 100, 100),
        ("100 in the middle", TURNS * 50, 100),
        ("the oldest 100", 10_000, 100),
        ("1,000 in the middle", TURNS * 70, 1_000),
    ] {
        let (rows, spent) = timed(|| block_on(store.history(from, limit)))?;
        println!("history, {name} of {TURNS} turns: {} rows in {spent} ms", rows.len());
    }
    let request = CompactRequest { instance: id(0), keep: 10_000, limit: 1_000 };
    let (rows, spent) = timed(|| block_on(store.compact(request)))?;
    println!("history, compaction: {rows} rows in {spent} ms");
    Ok(())
}

fn backup(directory: &Path) -> Result<(), Error> {
    let path = |name: &str| -> PathBuf { directory.join(name) };
    let store = Arc::new(open(&path("store.db"))?);
    for batch in 0..2_000 {
        let large = |number| {
            let mut unit = ended(number);
            if let Fence::Insert(row) = &mut unit.fence {
                Arc::make_mut(row).state = State::new(1, vec![7; 2_000]);
            }
            unit
        };
        commit(&store, batch + 1, (batch * 200..(batch + 1) * 200).map(large).collect())?;
    }
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let load = {
        let (store, stop, count) = (store.clone(), stop.clone(), count.clone());
        std::thread::spawn(move || -> Result<(), Error> {
            let mut batch = 10_000;
            while !stop.load(Ordering::SeqCst) {
                let units = (batch * 64..(batch + 1) * 64).map(ended).collect();
                commit(&store, batch, units)?;
                count.fetch_add(64, Ordering::SeqCst);
                batch += 1;
            }
            Ok(())
        })
    };
    let rate = |during: &mut dyn FnMut() -> Result<(), Error>| {
        let before = count.load(Ordering::SeqCst);
        let ((), spent) = timed(during)?;
        let made = count.load(Ordering::SeqCst) - before;
        Ok::<_, Error>((i64::try_from(made).unwrap_or_default() * 1_000 / spent, spent))
    };
    let wait = || {
        let until = SystemClock.now().real.saturating_add_millis(3_000);
        while SystemClock.now().real < until {
            std::thread::yield_now();
        }
        Ok(())
    };
    let (alone, _) = rate(&mut { wait })?;
    for round in 0..3 {
        wait()?;
        let copy = path(&format!("copy{round}.db"));
        let mut bytes = 0;
        let (during, spent) = rate(&mut || {
            bytes = block_on(store.backup(&copy, NOW, |_| {}))?.total;
            Ok(())
        })?;
        println!(
            "backup of {} MiB in {spent} ms, {during} instances/s meanwhile, {alone} without it \
             ({} percent)",
            bytes >> 20,
            during * 100 / alone.max(1)
        );
    }
    stop.store(true, Ordering::SeqCst);
    drop(load.join());
    let audit = AuditInfo { actor: "figures".to_owned(), reason: String::new() };
    let (from, to) = (path("copy2.db"), path("new.db"));
    let restore = || SqliteStore::restore(&from, &to, &Options::default(), NOW, &audit);
    let (restored, spent) = timed(restore)?;
    println!("restore of {} MiB with its check in {spent} ms", restored.bytes >> 20);
    Ok(())
}
