//! A restored backup is paused until an operator resumes it, and its new epoch makes tokens of the
//! former process stale.

use std::path::Path;
use std::sync::Arc;

use meantime_core::{Json, Source, TaskId, Timestamp};
use meantime_kernel::clock::{Clock, VirtualClock};
use meantime_kernel::command::{
    ClaimCommand, ClaimedTask, Command, Error, LeaseToken, Reply, Report, StartCommand,
};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::Notations;
use meantime_kernel::store::{InstanceFilter, OperationKind, Page, Phase, Store};
use meantime_sim::probe::Probe;
use meantime_store::postgres::PostgresStore;
use meantime_store::postgres::cluster::database;
use meantime_store::sqlite::{Options, SqliteStore};

const PROBES: &str = "
probe wait
timer t PT1H
await t
end \"done\"

probe work
task w mail
await w
end $w
";

const HOUR: i64 = 3_600_000;

fn start(definition: &str) -> Command {
    let definition = definition.to_owned();
    Command::Start(StartCommand { definition, ..StartCommand::default() })
}

async fn kernel(store: Arc<dyn Store>, clock: Arc<VirtualClock>) -> Kernel {
    let notations = Notations::default().with("probe", Arc::new(Probe));
    Builder::new(store, notations).clock(clock).start().await.expect("the kernel starts")
}

fn open(path: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(path, Options::default()).expect("it opens"))
}

async fn claim(kernel: &Kernel) -> Result<Vec<ClaimedTask>, Error> {
    let claim = ClaimCommand { max: 1, lease_ms: 60_000, ..ClaimCommand::default() };
    match kernel.call(Command::Claim(claim)).await? {
        Reply::Tasks(tasks) => Ok(tasks),
        other => panic!("{other:?}"),
    }
}

async fn complete(kernel: &Kernel, task: TaskId, token: LeaseToken) -> Result<Reply, Error> {
    let report = Report::Completed(Json::null());
    kernel.call(Command::Report { task, token: Some(token), report }).await
}

async fn phases(store: &dyn Store) -> Vec<Phase> {
    let rows = store.instances(InstanceFilter::default(), Page::first(99)).await;
    rows.expect("it reads").into_iter().map(|row| row.phase).collect()
}

fn audit(reason: &str) -> AuditInfo {
    AuditInfo { actor: "ana".to_owned(), reason: reason.to_owned() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_kernel_waits_for_a_confirmation_and_then_goes_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let [path, copy, new] =
        ["store.db", "copy.db", "new.db"].map(|name| directory.path().join(name));
    let begin = Timestamp::parse("2026-01-01T00:00:00Z").expect("an instant");
    let clock = Arc::new(VirtualClock::new(begin));
    let store = open(&path);
    let old = kernel(store.clone(), clock.clone()).await;
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    old.deploy("probe", source).await.expect("the probes are good");
    old.call(start("wait")).await.expect("started");
    old.call(start("work")).await.expect("started");
    let task = claim(&old).await.expect("there is a task").remove(0);
    store.backup(&copy, clock.now().engine, |_| {}).await.expect("it is copied");
    // The original store continues; the backup does not contain these changes.
    complete(&old, task.id, task.token).await.expect("the lease holds");
    assert_eq!(phases(&*store).await, [Phase::Completed, Phase::Running]);
    old.stop().await;

    let later = begin.saturating_add_millis(2 * HOUR);
    clock.advance_to(later);
    SqliteStore::restore(&copy, &new, &Options::default(), later, &audit("the disk broke"))
        .expect("it is restored");
    let store = open(&new);
    let paused = kernel(store.clone(), clock.clone()).await;
    assert!(paused.is_paused());
    let before = store.stats();
    let refused = |error: Error| assert_eq!((error.code(), &error), ("paused", &Error::Paused));
    refused(paused.call(start("wait")).await.expect_err("paused"));
    refused(claim(&paused).await.expect_err("paused"));
    refused(complete(&paused, task.id, task.token).await.expect_err("paused"));
    clock.advance_to(later.saturating_add_millis(HOUR));
    paused.clock_moved();
    paused.counters().await.expect("the loop has seen it");
    assert_eq!(store.stats().statements, before.statements, "nothing happens by itself");
    assert_eq!(phases(&*store).await, [Phase::Running, Phase::Running], "reading works");

    // A process that dies before the confirmation changes nothing.
    paused.stop().await;
    let paused = kernel(store.clone(), clock.clone()).await;
    assert!(paused.is_paused());
    paused.call(Command::Resume { audit: audit("no other copy runs") }).await.expect("resumed");
    let stale = complete(&paused, task.id, task.token).await.expect_err("it is stale");
    assert_eq!(stale.code(), "lease_lost");
    assert!(!paused.is_paused());
    paused.stop().await;
    // The timer was overdue and has fired.
    assert_eq!(phases(&*store).await, [Phase::Running, Phase::Completed]);
    let operations = store.operations(Page::first(9)).await.expect("it reads");
    let kinds: Vec<OperationKind> = operations.iter().map(|it| it.kind).collect();
    let all = [OperationKind::Copied, OperationKind::Restored, OperationKind::Resumed];
    assert_eq!(kinds, all);
    assert_eq!(operations[2].audit, audit("no other copy runs"));
    // The confirmation is durable.
    assert!(!kernel(store.clone(), clock).await.is_paused());
}

/// A second node reported itself as paused for ever: only the one that owns maintenance noticed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_of_a_restored_store_goes_on_when_one_of_them_is_told_to() {
    let database = database().expect("a database");
    let store = PostgresStore::open(database.options()).await.expect("it opens");
    store.mark_restored(Timestamp::default(), audit("copied")).await.expect("it is marked");
    drop(store);
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let store = PostgresStore::open(database.options()).await.expect("it opens");
        let notations = Notations::default().with("probe", Arc::new(Probe));
        nodes.push(Builder::new(Arc::new(store), notations).start().await.expect("it starts"));
    }
    assert!(nodes.iter().all(Kernel::is_paused));
    nodes[0].call(Command::Resume { audit: audit("checked") }).await.expect("it goes on");
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    nodes[0].deploy("probe", source).await.expect("the probes are good");
    for node in &nodes {
        // The resume travels to the other node by a notice.
        while matches!(node.call(start("wait")).await, Err(Error::Paused)) {
            tokio::task::yield_now().await;
        }
        assert!(!node.is_paused());
    }
}
