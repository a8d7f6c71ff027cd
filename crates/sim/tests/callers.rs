//! Callers of the real driver that wait, time out, disconnect, or move the clock.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use meantime_core::{InstanceId, Json, Source, Timestamp};
use meantime_kernel::clock::VirtualClock;
use meantime_kernel::command::{
    ClaimCommand, ClaimedTask, Command, Error, Reply, Report, StartCommand, Wait,
};
use meantime_kernel::driver::{Advanced, Builder, EngineTasks, Kernel};
use meantime_kernel::history::Record;
use meantime_kernel::machine::Notations;
use meantime_kernel::store::{MemoryStore, TaskRow};
use meantime_sim::probe::Probe;

const PROBES: &str = "
probe work
task w work
await w
end $w

probe twice
timer a PT1H
await a
timer b PT1H
await b
end \"done\"

probe ask
timer a PT1H
await a
task h http engine
await h
timer b PT1H
await b
end \"done\"

probe for_ever
again:
timer t PT1M
await t
goto again
";

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("an instant")
}

async fn set_up(builder: Builder) -> Kernel {
    let kernel = builder.start().await.expect("the kernel starts");
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    kernel
}

fn builder() -> Builder {
    let notations = Notations::default().with("probe", Arc::new(Probe));
    Builder::new(Arc::new(MemoryStore::new()), notations)
}

fn on_virtual_clock() -> Builder {
    builder().virtual_clock(Arc::new(VirtualClock::new(at("2026-01-01T00:00:00Z"))))
}

async fn start(kernel: &Kernel, definition: &str) -> InstanceId {
    let definition = definition.to_owned();
    let command = Command::Start(StartCommand { definition, ..StartCommand::default() });
    match kernel.call(command).await {
        Ok(Reply::Started { instance, .. }) => instance,
        other => panic!("{other:?}"),
    }
}

async fn claim(kernel: &Kernel, wait_ms: u64) -> Vec<ClaimedTask> {
    let worker = "w".to_owned();
    let (max, lease_ms) = (1, 60_000);
    let claim = ClaimCommand { worker, max, lease_ms, wait_ms, ..ClaimCommand::default() };
    match kernel.call(Command::Claim(claim)).await {
        Ok(Reply::Tasks(tasks)) => tasks,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_worker_that_goes_away_while_it_waits_takes_nothing() {
    let kernel = set_up(builder()).await;
    let waiting = kernel.clone();
    let worker = tokio::spawn(async move { claim(&waiting, 600_000).await });
    tokio::task::yield_now().await;
    worker.abort();
    assert!(worker.await.unwrap_err().is_cancelled());
    start(&kernel, "work").await;
    let tasks = claim(&kernel, 0).await;
    assert_eq!(tasks.iter().map(|task| task.attempt).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn a_task_that_is_given_back_counts_as_not_claimed() {
    let kernel = set_up(builder()).await;
    start(&kernel, "work").await;
    let first = claim(&kernel, 0).await.remove(0);
    let give_back = Command::Release { task: first.id, token: first.token };
    assert_eq!(kernel.call(give_back.clone()).await, Ok(Reply::Done));
    let second = claim(&kernel, 0).await.remove(0);
    assert_eq!((second.id, second.attempt), (first.id, 1));
    assert_eq!(kernel.call(give_back).await, Err(Error::LeaseLost(first.id)));
    let report = Report::Completed(Json::null());
    let stale = Command::Report { task: first.id, token: Some(first.token), report };
    assert_eq!(kernel.call(stale).await, Err(Error::LeaseLost(first.id)));
}

#[tokio::test]
async fn no_patience_at_all_is_answered_by_the_first_commit() {
    let kernel = set_up(builder()).await;
    let definition = "work".to_owned();
    let command = Command::Start(StartCommand { definition, ..StartCommand::default() });
    // No worker completes the task, so the instance never becomes idle.
    let reply = kernel.call_and_wait(command, Wait::Idle, Some(Duration::ZERO)).await;
    assert!(matches!(reply, Ok(Reply::Started { .. })), "{reply:?}");
}

/// A caller that waits for the end is not answered when the instance is idle.
#[tokio::test]
async fn the_end_is_waited_for_across_rests() {
    let kernel = set_up(on_virtual_clock()).await;
    let id = start(&kernel, "twice").await;
    let waiting = kernel.clone();
    let ended = tokio::spawn(async move {
        let command = Command::Await { instance: id };
        waiting.call_and_wait(command, Wait::Ended, None).await
    });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!ended.is_finished(), "it rests, and is not over");
    kernel.advance(at("2026-01-01T01:30:00Z"), 100).await.expect("the clock moves");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!ended.is_finished(), "it rests once more");
    kernel.advance(at("2026-01-01T02:30:00Z"), 100).await.expect("the clock moves");
    assert_eq!(ended.await.expect("it did not panic"), Ok(Reply::Done));
    let over = kernel.call_and_wait(Command::Await { instance: id }, Wait::Ended, None).await;
    assert_eq!(over, Ok(Reply::Done), "what is over is not waited for");
    let unknown = InstanceId::new(1, 2);
    let unknown = kernel.call_and_wait(Command::Await { instance: unknown }, Wait::Ended, None);
    assert_eq!(unknown.await.map_err(|error| error.code()), Err("unknown_instance"));
}

#[tokio::test]
async fn a_start_that_waits_for_the_end_has_it_and_patience_has_an_end() {
    let kernel = set_up(on_virtual_clock()).await;
    let start = |definition: &str| {
        let definition = definition.to_owned();
        Command::Start(StartCommand { definition, ..StartCommand::default() })
    };
    let reply = kernel.call_and_wait(start("twice"), Wait::Ended, Some(Duration::ZERO)).await;
    let Ok(Reply::Started { row: Some(row), .. }) = reply else { panic!("{reply:?}") };
    assert!(!row.phase.is_ended(), "{:?}", row.phase);
    let waiting = kernel.clone();
    let started =
        tokio::spawn(async move { waiting.call_and_wait(start("twice"), Wait::Ended, None).await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    kernel.advance(at("2026-01-02T00:00:00Z"), 100).await.expect("the clock moves");
    let reply = started.await.expect("it did not panic");
    let Ok(Reply::Started { row: Some(row), .. }) = reply else { panic!("{reply:?}") };
    assert!(row.phase.is_ended(), "{:?}", row.phase);
}

#[tokio::test]
async fn the_clock_goes_from_due_instant_to_due_instant() {
    let kernel = set_up(on_virtual_clock()).await;
    let id = start(&kernel, "twice").await;
    let advanced = kernel.advance(at("2026-01-02T00:00:00Z"), 100).await;
    assert_eq!(advanced, Ok(Advanced { now: at("2026-01-02T00:00:00Z"), fired: 2 }));
    let row = kernel.store().instance(id).await.unwrap().unwrap();
    assert_eq!(row.ended_at, Some(at("2026-01-01T02:00:00Z")));
    assert_eq!(kernel.now().engine, at("2026-01-02T00:00:00Z"));
    let back = kernel.advance(at("2026-01-01T00:00:00Z"), 100).await;
    assert_eq!(back.map_err(|error| error.code()), Err("invalid_request"));
}

/// Answers after a short real time.
struct Slow;

impl EngineTasks for Slow {
    fn run(&self, _task: TaskRow) -> Pin<Box<dyn Future<Output = Report> + Send + '_>> {
        Box::pin(async move {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            Report::Completed(Json::null())
        })
    }
}

#[tokio::test]
async fn the_clock_waits_for_what_the_engine_does_outside() {
    let kernel = set_up(on_virtual_clock().engine_tasks(Arc::new(Slow))).await;
    let id = start(&kernel, "ask").await;
    let advanced = kernel.advance(at("2026-01-02T00:00:00Z"), 100).await.unwrap();
    assert_eq!(advanced.fired, 2);
    let row = kernel.store().instance(id).await.unwrap().unwrap();
    assert_eq!(row.ended_at, Some(at("2026-01-01T02:00:00Z")));
}

#[tokio::test]
async fn what_never_ends_stops_the_clock() {
    let kernel = set_up(on_virtual_clock()).await;
    start(&kernel, "for_ever").await;
    let error = kernel.advance(at("2027-01-01T00:00:00Z"), 10).await.unwrap_err();
    assert_eq!(error, Error::TooManyFirings { now: at("2026-01-01T00:11:00Z"), limit: 10 });
    assert_eq!(kernel.now().engine, at("2026-01-01T00:11:00Z"));
}

#[tokio::test]
async fn the_real_clock_is_not_moved() {
    let kernel = set_up(builder()).await;
    let error = kernel.advance(at("2099-01-01T00:00:00Z"), 10).await.unwrap_err();
    assert_eq!(error, Error::ClockNotVirtual);
}

#[tokio::test]
async fn all_that_happens_can_be_followed() {
    let kernel = set_up(builder()).await;
    let mut history = kernel.history();
    let seen = *history.borrow_and_update();
    let id = start(&kernel, "work").await;
    history.changed().await.unwrap();
    let rows = kernel.store().history_since(seen, 10).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.instance).collect::<Vec<_>>(), [id]);
    assert!(matches!(rows[0].records[0], Record::Started { .. }));
    assert_eq!(*history.borrow(), rows[0].seq);
}
