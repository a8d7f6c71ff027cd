//! The real driver: tokio, the SQLite store, several callers at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use meantime_core::time::Span;
use meantime_core::{Json, Source, Timestamp};
use meantime_kernel::clock::VirtualClock;
use meantime_kernel::command::{ClaimCommand, Command, Error, Reply, Report, StartCommand, Wait};
use meantime_kernel::driver::{Builder, DeployError, EngineTasks, Kernel};
use meantime_kernel::machine::{Config, Notations};
use meantime_kernel::store::{InstanceFilter, MemoryStore, Page, Phase, Store, TaskRow};
use meantime_sim::probe::Probe;
use meantime_store::sqlite::{Options, SqliteStore};

const PROBES: &str = "
probe short
end \"done\"

probe sleeper
timer t P30D
await t
end \"awake\"

probe work
task w work
await w
end $w

probe call
task h http engine
await h
end $h
";

fn notations() -> Notations {
    Notations::default().with("probe", Arc::new(Probe))
}

async fn kernel(builder: Builder) -> Kernel {
    let kernel = builder.start().await.expect("the kernel starts");
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    kernel
}

fn start(definition: &str) -> Command {
    let definition = definition.to_owned();
    Command::Start(StartCommand { definition, ..StartCommand::default() })
}

async fn phases(store: &dyn Store) -> Vec<Phase> {
    let rows = store.instances(InstanceFilter::default(), Page::first(usize::MAX)).await;
    rows.expect("the store can be read").into_iter().map(|row| row.phase).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i11_sixty_four_starters_share_their_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("meantime.db");
    let store = Arc::new(SqliteStore::open(path, Options::default()).unwrap());
    let kernel = kernel(Builder::new(store.clone(), notations())).await;
    let before = store.stats();
    let starters = (0..64).map(|_| {
        let kernel = kernel.clone();
        tokio::spawn(async move {
            for _ in 0..40 {
                kernel.call(start("short")).await.expect("started");
            }
        })
    });
    for starter in starters.collect::<Vec<_>>() {
        starter.await.unwrap();
    }
    let after = store.stats();
    let (turns, commits) = (after.turns - before.turns, after.commits - before.commits);
    assert_eq!(turns, 64 * 40);
    assert!(turns > 10 * commits, "{turns} turns in {commits} commits");
    assert_eq!(phases(&*store).await, vec![Phase::Completed; 64 * 40]);
}

#[tokio::test]
async fn a_full_store_refuses_with_a_code_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("meantime.db");
    let store = Arc::new(SqliteStore::open(path, Options::default()).unwrap());
    let config = Config { store_retry_ms: 0, ..Config::default() };
    let kernel = kernel(Builder::new(store.clone(), notations()).config(config)).await;
    kernel.call(start("sleeper")).await.expect("there is room at first");
    store.set_max_size(Some(2_000_000)).await.unwrap();
    let large = Json::of(&"x".repeat(100_000)).unwrap();
    let command = Command::Start(StartCommand {
        definition: "sleeper".to_owned(),
        input: large,
        ..StartCommand::default()
    });
    let mut started = 1;
    let refused = loop {
        match kernel.call(command.clone()).await {
            Ok(_) => started += 1,
            Err(error) => break error,
        }
        assert!(started < 100, "the store never became full");
    };
    assert_eq!(refused.code(), "store_full");
    assert_eq!(phases(&*store).await.len(), started, "reads go on, nothing acknowledged is lost");
    store.set_max_size(None).await.unwrap();
    kernel.call(command).await.expect("there is room again");
    assert_eq!(phases(&*store).await.len(), started + 1);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_virtual_clock_crosses_thirty_days() {
    let store = Arc::new(MemoryStore::new());
    let begin = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    let clock = Arc::new(VirtualClock::new(begin));
    let kernel = kernel(Builder::new(store.clone(), notations()).clock(clock.clone())).await;
    let reply = kernel.call_and_wait(start("sleeper"), Wait::Idle, None).await.unwrap();
    let Reply::Started { instance, .. } = reply else { panic!("{reply:?}") };
    let later = Span::parse("P30D").unwrap().add_to(begin, &meantime_core::time::Zone::utc());
    let later = later.unwrap();
    clock.advance_to(later);
    kernel.clock_moved();
    kernel.stop().await;
    let row = store.instance(instance).await.unwrap().unwrap();
    assert_eq!((row.phase, row.ended_at), (Phase::Completed, Some(later)));
}

#[tokio::test]
async fn a_waiting_worker_is_woken_by_the_start() {
    let kernel = kernel(Builder::new(Arc::new(MemoryStore::new()), notations())).await;
    let worker = kernel.clone();
    let working = tokio::spawn(async move {
        let claim = ClaimCommand {
            worker: "w".to_owned(),
            max: 1,
            lease_ms: 60_000,
            wait_ms: 60_000,
            ..ClaimCommand::default()
        };
        let reply = worker.call(Command::Claim(claim)).await.unwrap();
        let Reply::Tasks(tasks) = reply else { panic!("{reply:?}") };
        let (task, token) = (tasks[0].id, Some(tasks[0].token));
        let report = Report::Completed(Json::parse("{\"ok\":true}").unwrap());
        worker.call(Command::Report { task, token, report }).await.unwrap();
    });
    kernel.call_and_wait(start("work"), Wait::Idle, None).await.unwrap();
    working.await.unwrap();
    assert_eq!(phases(&**kernel.store()).await, [Phase::Completed]);
}

struct Echo;

impl EngineTasks for Echo {
    fn run(&self, task: TaskRow) -> Pin<Box<dyn Future<Output = Report> + Send + '_>> {
        Box::pin(async move { Report::Completed(Json::of(&task.spec.name).unwrap_or_default()) })
    }
}

#[tokio::test]
async fn the_engine_runs_its_own_tasks_after_the_commit() {
    let builder = Builder::new(Arc::new(MemoryStore::new()), notations());
    let kernel = kernel(builder.engine_tasks(Arc::new(Echo))).await;
    kernel.call_and_wait(start("call"), Wait::Idle, None).await.unwrap();
    assert_eq!(phases(&**kernel.store()).await, [Phase::Completed]);
}

#[tokio::test]
async fn overload_refuses_starts_early_and_never_cancels() {
    let mut config = Config::default();
    config.limits.queued_turns = 10;
    let store = Arc::new(MemoryStore::new());
    let kernel = kernel(Builder::new(store, notations()).config(config)).await;
    let calls = (0..1_000).map(|_| {
        let kernel = kernel.clone();
        tokio::spawn(async move { kernel.call(start("sleeper")).await })
    });
    let (mut accepted, mut refused) = (Vec::new(), 0);
    for call in calls.collect::<Vec<_>>() {
        match call.await.unwrap() {
            Ok(Reply::Started { instance, .. }) => accepted.push(instance),
            Err(Error::Overloaded) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(refused > 0, "nothing was refused");
    assert_eq!(phases(&**kernel.store()).await.len(), accepted.len());
    for instance in accepted {
        let audit = meantime_kernel::history::AuditInfo::default();
        kernel.call(Command::Cancel { instance, audit }).await.expect("cancels always get in");
    }
}

#[tokio::test]
async fn bad_definitions_are_refused_with_all_their_problems() {
    let kernel = kernel(Builder::new(Arc::new(MemoryStore::new()), notations())).await;
    let text = "probe bad\ntimer t P\ndance\n";
    let source = Source { name: "bad".to_owned(), text: text.into(), files: Vec::new() };
    let Err(DeployError::Diagnostics(found)) = kernel.deploy("probe", source.clone()).await else {
        panic!("it was deployed")
    };
    let found: Vec<_> = found.iter().map(|it| (it.code.as_str(), it.start.line)).collect();
    assert_eq!(found, [("invalid_duration", 2), ("P003", 3)]);
    let error = kernel.deploy("cobol", source).await.unwrap_err();
    assert!(matches!(error, DeployError::Kernel(error) if error.code() == "invalid_request"));
}

#[tokio::test]
async fn a_stopped_kernel_says_so() {
    let kernel = kernel(Builder::new(Arc::new(MemoryStore::new()), notations())).await;
    kernel.stop().await;
    assert_eq!(kernel.call(start("short")).await, Err(Error::Stopping));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_many_timers_are_moved_by_a_selector_in_few_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("meantime.db");
    let store = Arc::new(SqliteStore::open(path, Options::default()).unwrap());
    let kernel = kernel(Builder::new(store.clone(), notations())).await;
    for _ in 0..200 {
        kernel.call(start("sleeper")).await.unwrap();
    }
    let before = store.stats();
    let to = Timestamp::parse("2099-01-01T00:00:00Z").unwrap();
    let filter = meantime_kernel::store::TimerFilter {
        element: Some("t".to_owned()),
        ..meantime_kernel::store::TimerFilter::default()
    };
    let audit =
        meantime_kernel::history::AuditInfo { actor: "ann".to_owned(), reason: "late".to_owned() };
    let edit = meantime_kernel::command::TimerEdit::Move(to);
    assert_eq!(kernel.edit_timers(filter.clone(), edit, audit).await, Ok(200));
    let timers = store.timers(filter, Page::first(1_000)).await.unwrap();
    assert!(timers.len() == 200 && timers.iter().all(|timer| timer.due_at == to));
    let commits = store.stats().commits - before.commits;
    assert!(commits < 100, "{commits} commits for 200 edits");
}
