//! What a one-task instance costs: commits, statements, bytes of log, time.
//!
//! `cargo run -p meantime-store --release --example wal_cost [group] [instances]`
//!
//! Three commits per instance, as the kernel makes them: it starts and schedules its task, a worker
//! claims the task, the report ends the instance. `group` instances share each commit. Everything
//! is written with full durability to a file in the current directory, which is removed at the end.
#![expect(clippy::print_stdout, reason = "an example talks to people")]

use meantime_core::{
    DefinitionId, EffectKey, InstanceId, Json, Outcome, StartCause, State, TaskId, TaskKind,
    TaskSpec, Timestamp,
};
use meantime_kernel::clock::{Clock, SystemClock};
use meantime_kernel::history::Record;
use meantime_kernel::open::{Key, Open, OpenTask};
use meantime_kernel::store::{
    Error, Extra, Guard, HistoryRow, InstanceRow, LeaseRow, Phase, Plan, Store, Taken, TaskRow,
    TaskState, Unit, UnitResult, Write,
};
use meantime_store::conformance::block_on;
use meantime_store::sqlite::{Options, SqliteStore};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().ok());
    let group = arguments.next().flatten().unwrap_or(64).max(1);
    let count = arguments.next().flatten().unwrap_or(64_000);
    let path = std::env::current_dir().unwrap_or_default().join("wal_cost.db");
    let remove = || {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            drop(std::fs::remove_file(format!("{}{suffix}", path.display())));
        }
    };
    remove();
    let store = SqliteStore::open(&path, Options::default())?;
    let begun = SystemClock.now().real;
    let mut batch = 0;
    for first in (0..count).step_by(usize::try_from(group).unwrap_or(1)) {
        for units in [started, claimed, completed] {
            batch += 1;
            let units = (first..first + group).map(units).collect();
            let plan = Plan { batch, now: NOW, units };
            let results = block_on(store.commit(Taken::default(), plan))?;
            assert!(results.iter().all(|result| matches!(result, UnitResult::Done(_))));
        }
    }
    report(&store, group, SystemClock.now().real.saturating_since(begun));
    drop(store);
    remove();
    Ok(())
}

fn report(store: &SqliteStore, group: u64, spent_ms: i64) {
    let stats = store.stats();
    // An instance is two turns: one that starts it and one that ends it.
    let instances = stats.turns / 2;
    let spent_ms = u64::try_from(spent_ms).unwrap_or_default().max(1);
    let per_second = |amount: u64| amount * 1_000 / spent_ms;
    let hundredths = stats.statements * 100 / instances.max(1);
    // A frame of the log is a page and a header of 24 bytes.
    let log = stats.wal_pages * (4_096 + 24) / instances.max(1);
    println!("instances            {instances} in groups of {group}");
    println!("instances per second {}", per_second(instances));
    println!("commits per second   {}", per_second(stats.commits));
    println!("commits              {} ({} checkpoints)", stats.commits, stats.checkpoints);
    println!("statements/instance  {}.{:02}", hundredths / 100, hundredths % 100);
    println!("log bytes/instance   {log}");
}

fn id(number: u64) -> InstanceId {
    let order = NOW.as_millis().cast_unsigned() + number;
    InstanceId::new(order << 15, number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn key(number: u64) -> EffectKey {
    id(number).effect(1, 0)
}

fn task(number: u64) -> TaskRow {
    let input = Json::parse("{\"order\":4711,\"customer\":\"c-1\"}").unwrap_or_default();
    TaskRow {
        id: TaskId(key(number)),
        spec: TaskSpec::worker("charge-card", "charge", input),
        definition: DefinitionId(1),
        state: TaskState::Ready,
        available_at: NOW,
        created_at: NOW,
        deadline_at: None,
        claims: 0,
        attempt: 0,
        expiries: 0,
        lease: None,
        assignee: None,
        outcome: None,
    }
}

fn row(number: u64) -> InstanceRow {
    let open = OpenTask { kind: TaskKind::Worker, detached: false };
    InstanceRow {
        id: id(number),
        turn_no: 1,
        phase: Phase::Running,
        definition: DefinitionId(1),
        started_at: NOW,
        ended_at: None,
        deadline_at: None,
        state: State::new(1, vec![7; 80]),
        open: Open { tasks: [(Key(1, 0), open)].into(), ..Open::default() },
        last_history: number * 2 + 1,
        key: None,
        extra: Extra::default(),
    }
}

fn history(number: u64, turn_no: u64, records: Vec<Record>) -> Write {
    let seq = number * 2 + turn_no;
    let previous = if turn_no == 1 { 0 } else { seq - 1 };
    Write::History(HistoryRow { seq, instance: id(number), turn_no, at: NOW, previous, records })
}

fn started(number: u64) -> Unit {
    let input = Json::parse("{\"order\":4711}").unwrap_or_default();
    let records = vec![
        Record::Started { cause: StartCause::Api, input },
        Record::TaskScheduled { key: key(number), name: "charge-card".to_owned() },
    ];
    let writes = vec![history(number, 1, records), Write::InsertTask(Box::new(task(number)))];
    Unit { guard: Guard::Insert(Box::new(row(number))), writes, ..Unit::default() }
}

fn claimed(number: u64) -> Unit {
    let lease = LeaseRow { worker: "worker-1".to_owned(), until: NOW, timeout_at: None };
    let lease = Some(lease);
    let row = TaskRow { state: TaskState::Leased, claims: 1, attempt: 1, lease, ..task(number) };
    Unit { guard: Guard::Task { row: Box::new(row), claims: 0 }, ..Unit::default() }
}

fn completed(number: u64) -> Unit {
    let output = Json::parse("{\"receipt\":\"r-1\"}").unwrap_or_default();
    let outcome = Outcome::Completed { output, context: Json::null() };
    let row = InstanceRow {
        turn_no: 2,
        phase: Phase::Completed,
        ended_at: Some(NOW),
        open: Open::default(),
        last_history: number * 2 + 2,
        extra: Extra { outcome: Some(outcome), ..Extra::default() },
        ..row(number)
    };
    let done = Record::Event {
        name: "taskDone".to_owned(),
        key: Some(key(number)),
        note: None,
        taken: true,
    };
    let ended = Record::Ended { phase: "completed".to_owned(), code: None };
    let delete = Write::DeleteTask { id: TaskId(key(number)), claims: Some(1) };
    let writes = vec![history(number, 2, vec![done, ended]), delete];
    Unit { guard: Guard::Turn { row: Box::new(row), expected: 1 }, writes, ..Unit::default() }
}
