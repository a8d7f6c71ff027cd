//! A store that fails at the wrong moment: nothing is forgotten, and nobody is told two things.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_core::{Json, Timestamp};
use meantime_kernel::command::{
    ClaimCommand, ClaimedTask, Command, Error, Reply, Report, StartCommand, Wait,
};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{InstanceFilter, MemoryStore, Page, Phase, TaskFilter, TaskState};
use meantime_sim::harness::{Fate, Fault, FlakyStore, World, block_on};

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

/// Commits that the start of a world makes: the built-in definition and the probes.
const SETUP: u64 = 2;

/// A world in which some commits of its own, counted from 1, are refused.
fn world(refused: &[u64]) -> World {
    let faults = refused.iter().map(|number| (number + SETUP, Fault::Unavailable));
    let faults: BTreeMap<u64, Fault> = faults.collect();
    World::with_probes(Arc::new(FlakyStore::new(Arc::new(MemoryStore::new()), faults)), PROBES)
}

fn start(world: &mut World, definition: &str) -> Fate {
    let start = StartCommand { definition: definition.to_owned(), ..StartCommand::default() };
    world.call(Command::Start(start), Wait::Quiet).1
}

fn after(world: &World, ms: i64) -> Timestamp {
    world.now().engine.saturating_add_millis(ms)
}

fn phases(world: &World) -> Vec<Phase> {
    let rows = block_on(world.store.instances(InstanceFilter::default(), Page::first(99)));
    rows.expect("it reads").into_iter().map(|row| row.phase).collect()
}

fn claim(world: &mut World, lease_ms: u64) -> ClaimedTask {
    let worker = "w".to_owned();
    let claim = ClaimCommand { worker, max: 1, lease_ms, ..ClaimCommand::default() };
    match world.call(Command::Claim(claim), Wait::Quiet).1 {
        Fate::Answered(Ok(Reply::Tasks(mut tasks))) if tasks.len() == 1 => tasks.remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn i12_what_is_due_while_the_store_is_away_wakes_nobody() {
    let mut world = world(&[2]);
    start(&mut world, "sleeper");
    let due = after(&world, 10_000);
    world.let_pass(due);
    world.advance_real(0);
    let retry = due.saturating_add_millis(250);
    assert_eq!(world.next_wakeup(), (None, Some(retry)), "the timer is due, the store is not");
    world.advance_to(retry);
    assert_eq!(phases(&world), [Phase::Completed]);
}

#[test]
fn p6_a_clock_that_goes_back_does_not_stop_the_machine_after_a_failure() {
    let mut world = world(&[1]);
    assert!(matches!(start(&mut world, "sleeper"), Fate::Answered(Err(Error::Store { .. }))));
    let long_ago = after(&world, -86_400_000);
    world.set_clock(long_ago);
    assert!(matches!(start(&mut world, "sleeper"), Fate::Answered(Ok(Reply::Started { .. }))));
}

#[test]
fn p2_a_report_of_the_engine_is_not_forgotten_when_the_store_fails() {
    let mut world = world(&[2]);
    start(&mut world, "engine");
    let task = world.dispatched.remove(0);
    world.engine_reports(&task, Report::Completed(Json::null()));
    assert_eq!(phases(&world), [Phase::Running]);
    let later = after(&world, 250);
    world.advance_to(later);
    assert_eq!(phases(&world), [Phase::Completed]);
}

#[test]
fn p2_a_report_of_the_engine_that_is_too_large_is_a_failure_of_its_task() {
    let mut world = world(&[]);
    start(&mut world, "engine");
    let task = world.dispatched.remove(0);
    let large = Json::of(&"x".repeat(2 << 20)).expect("a text");
    world.engine_reports(&task, Report::Completed(large));
    assert_eq!(phases(&world), [Phase::Failed]);
}

#[test]
fn i2_who_reports_on_a_detached_task_is_answered_when_the_store_fails() {
    let mut world = world(&[3]);
    start(&mut world, "fire");
    let task = claim(&mut world, 60_000);
    let report = Report::Completed(Json::null());
    let report = Command::Report { task: task.id, token: Some(task.token), report };
    let refused = world.call(report.clone(), Wait::Quiet).1;
    assert!(matches!(refused, Fate::Answered(Err(Error::Store { .. }))), "{refused:?}");
    world.advance_real(250);
    assert_eq!(world.call(report, Wait::Quiet).1, Fate::Answered(Ok(Reply::Done)));
}

#[test]
fn p2_a_lease_on_a_detached_task_expires_when_the_store_fails() {
    let mut world = world(&[3]);
    start(&mut world, "fire");
    let task = claim(&mut world, 1_000);
    world.advance_real(1_000);
    let state = |world: &World| {
        let rows = block_on(world.store.tasks(TaskFilter::default(), Page::first(9)));
        rows.expect("it reads").first().map(|row| (row.id, row.state))
    };
    assert_eq!(state(&world), Some((task.id, TaskState::Leased)));
    world.advance_real(250);
    assert_eq!(state(&world), Some((task.id, TaskState::Ready)));
}

#[test]
fn o1_of_two_who_answer_an_incident_one_is_told_that_it_is_closed() {
    for together in [true, false] {
        let mut world = world(&[]);
        start(&mut world, "thrower");
        start(&mut world, "thrower");
        let rows = block_on(world.store.incidents(None, Page::first(9))).expect("it reads");
        let (incident, audit) = (rows[0].id, AuditInfo::default());
        let retry = Command::RetryIncident { incident, audit };
        let fates = if together {
            world.call_all(vec![retry.clone(), retry])
        } else {
            vec![world.call(retry.clone(), Wait::Quiet).1, world.call(retry, Wait::Quiet).1]
        };
        assert_eq!(fates[0], Fate::Answered(Ok(Reply::Done)));
        assert_eq!(fates[1], Fate::Answered(Err(Error::UnknownIncident(incident))));
    }
}

#[test]
fn i2_an_incident_is_answered_once_when_the_store_fails() {
    // The third commit has the message and is refused; the answer to the incident has its own turn.
    let mut world = world(&[2]);
    start(&mut world, "thrower");
    let rows = block_on(world.store.incidents(None, Page::first(9))).expect("it reads");
    let (incident, audit) = (rows[0].id, AuditInfo::default());
    let name = "storm".to_owned();
    let broadcast = Command::Broadcast { name, payload: Json::null() };
    let fates = world.call_all(vec![Command::RetryIncident { incident, audit }, broadcast]);
    assert_eq!(fates[0], Fate::Waiting, "nobody may be told that nothing was done");
    assert!(matches!(fates[1], Fate::Answered(Err(Error::Store { .. }))));
    world.advance_real(250);
    assert_eq!(phases(&world), [Phase::Completed]);
}
