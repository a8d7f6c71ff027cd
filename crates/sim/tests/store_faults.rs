//! A store that fails at inconvenient moments: nothing is lost, and no caller gets two answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_core::{Json, Timestamp};
use meantime_kernel::command::{
    ClaimCommand, ClaimedTask, Command, Error, Reply, Report, StartCommand, Wait,
};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{InstanceFilter, MemoryStore, Page, Phase, TaskFilter, TaskState};
use meantime_sim::harness::{CallStatus, CommitFault, FlakyStore, SimKernel, block_on};

const PROBES: &str = "
probe sleeper
timer t PT10S
await t
end

probe engine
task e call engine
await e
end

probe fire
task mail mail detached
end

probe thrower
throw OUCH
end
";

/// Commits of the set-up: the built-in definition and the probes.
const SETUP: u64 = 2;

/// A kernel for which some commits after the set-up, counted from 1, are refused.
fn sim(refused: &[u64]) -> SimKernel {
    let faults = refused.iter().map(|number| (number + SETUP, CommitFault::Unavailable));
    let faults: BTreeMap<u64, CommitFault> = faults.collect();
    SimKernel::with_probes(Arc::new(FlakyStore::new(Arc::new(MemoryStore::new()), faults)), PROBES)
}

fn start(sim: &mut SimKernel, definition: &str) -> CallStatus {
    let start = StartCommand { definition: definition.to_owned(), ..StartCommand::default() };
    sim.call(Command::Start(start), Wait::Quiet).1
}

fn after(sim: &SimKernel, ms: i64) -> Timestamp {
    sim.now().engine.saturating_add_millis(ms)
}

fn phases(sim: &SimKernel) -> Vec<Phase> {
    let rows = block_on(sim.store.instances(InstanceFilter::default(), Page::first(99)));
    rows.expect("it reads").into_iter().map(|row| row.phase).collect()
}

fn claim(sim: &mut SimKernel, lease_ms: u64) -> ClaimedTask {
    let worker = "w".to_owned();
    let claim = ClaimCommand { worker, max: 1, lease_ms, ..ClaimCommand::default() };
    match sim.call(Command::Claim(claim), Wait::Quiet).1 {
        CallStatus::Answered(Ok(Reply::Tasks(mut tasks))) if tasks.len() == 1 => tasks.remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn i12_what_is_due_while_the_store_is_away_wakes_nobody() {
    let mut sim = sim(&[2]);
    start(&mut sim, "sleeper");
    let due = after(&sim, 10_000);
    sim.set_clock_silently(due);
    sim.advance_real(0);
    let retry = due.saturating_add_millis(250);
    assert_eq!(sim.next_wakeup(), (None, Some(retry)), "the timer is due, the store is not");
    sim.advance_to(retry);
    assert_eq!(phases(&sim), [Phase::Completed]);
}

#[test]
fn p6_a_clock_that_goes_back_does_not_stop_the_machine_after_a_failure() {
    let mut sim = sim(&[1]);
    assert!(matches!(start(&mut sim, "sleeper"), CallStatus::Answered(Err(Error::Store { .. }))));
    let long_ago = after(&sim, -86_400_000);
    sim.set_clock(long_ago);
    assert!(matches!(start(&mut sim, "sleeper"), CallStatus::Answered(Ok(Reply::Started { .. }))));
}

#[test]
fn p2_a_report_of_the_engine_is_not_forgotten_when_the_store_fails() {
    let mut sim = sim(&[2]);
    start(&mut sim, "engine");
    let task = sim.dispatched.remove(0);
    sim.report_engine_task(&task, Report::Completed(Json::null()));
    assert_eq!(phases(&sim), [Phase::Running]);
    let later = after(&sim, 250);
    sim.advance_to(later);
    assert_eq!(phases(&sim), [Phase::Completed]);
}

#[test]
fn p2_a_report_of_the_engine_that_is_too_large_is_a_failure_of_its_task() {
    let mut sim = sim(&[]);
    start(&mut sim, "engine");
    let task = sim.dispatched.remove(0);
    let large = Json::of(&"x".repeat(2 << 20)).expect("a text");
    sim.report_engine_task(&task, Report::Completed(large));
    assert_eq!(phases(&sim), [Phase::Failed]);
}

#[test]
fn i2_who_reports_on_a_detached_task_is_answered_when_the_store_fails() {
    let mut sim = sim(&[3]);
    start(&mut sim, "fire");
    let task = claim(&mut sim, 60_000);
    let report = Report::Completed(Json::null());
    let report = Command::Report { task: task.id, token: Some(task.token), report };
    let refused = sim.call(report.clone(), Wait::Quiet).1;
    assert!(matches!(refused, CallStatus::Answered(Err(Error::Store { .. }))), "{refused:?}");
    sim.advance_real(250);
    assert_eq!(sim.call(report, Wait::Quiet).1, CallStatus::Answered(Ok(Reply::Done)));
}

#[test]
fn p2_a_lease_on_a_detached_task_expires_when_the_store_fails() {
    let mut sim = sim(&[3]);
    start(&mut sim, "fire");
    let task = claim(&mut sim, 1_000);
    sim.advance_real(1_000);
    let state = |sim: &SimKernel| {
        let rows = block_on(sim.store.tasks(TaskFilter::default(), Page::first(9)));
        rows.expect("it reads").first().map(|row| (row.id, row.state))
    };
    assert_eq!(state(&sim), Some((task.id, TaskState::Leased)));
    sim.advance_real(250);
    assert_eq!(state(&sim), Some((task.id, TaskState::Ready)));
}

#[test]
fn o1_of_two_who_answer_an_incident_one_is_told_that_it_is_closed() {
    for together in [true, false] {
        let mut sim = sim(&[]);
        start(&mut sim, "thrower");
        start(&mut sim, "thrower");
        let rows = block_on(sim.store.incidents(None, Page::first(9))).expect("it reads");
        let (incident, audit) = (rows[0].id, AuditInfo::default());
        let retry = Command::RetryIncident { incident, audit };
        let statuses = if together {
            sim.call_all(vec![retry.clone(), retry])
        } else {
            vec![sim.call(retry.clone(), Wait::Quiet).1, sim.call(retry, Wait::Quiet).1]
        };
        assert_eq!(statuses[0], CallStatus::Answered(Ok(Reply::Done)));
        assert_eq!(statuses[1], CallStatus::Answered(Err(Error::UnknownIncident(incident))));
    }
}

#[test]
fn i2_an_incident_is_answered_once_when_the_store_fails() {
    // The second commit after the set-up is refused. The broadcast was part of it and gets the
    // error; the retry of the incident waits for a turn of its own, which is tried again.
    let mut sim = sim(&[2]);
    start(&mut sim, "thrower");
    let rows = block_on(sim.store.incidents(None, Page::first(9))).expect("it reads");
    let (incident, audit) = (rows[0].id, AuditInfo::default());
    let name = "storm".to_owned();
    let broadcast = Command::Broadcast { name, payload: Json::null() };
    let statuses = sim.call_all(vec![Command::RetryIncident { incident, audit }, broadcast]);
    assert_eq!(statuses[0], CallStatus::Waiting, "nobody may be told that nothing was done");
    assert!(matches!(statuses[1], CallStatus::Answered(Err(Error::Store { .. }))));
    sim.advance_real(250);
    assert_eq!(phases(&sim), [Phase::Completed]);
}
