//! Reports and claims that meet in one commit.

use std::sync::Arc;

use meantime_core::Failure;
use meantime_kernel::command::{
    ClaimCommand, ClaimedTask, Command, Error, Reply, Report, StartCommand, Wait,
};
use meantime_kernel::store::MemoryStore;
use meantime_sim::harness::{Fate, World};

const PROBE: &str = "
probe work
task w work attempts=10
await w
end
";

fn world() -> World {
    let mut world = World::with_probes(Arc::new(MemoryStore::new()), PROBE);
    let start = StartCommand { definition: "work".to_owned(), ..StartCommand::default() };
    world.call(Command::Start(start), Wait::Quiet);
    world
}

fn claim(worker: &str) -> Command {
    let worker = worker.to_owned();
    Command::Claim(ClaimCommand { worker, max: 1, lease_ms: 1_000, ..ClaimCommand::default() })
}

fn tasks(fate: &Fate) -> Vec<ClaimedTask> {
    match fate {
        Fate::Answered(Ok(Reply::Tasks(tasks))) => tasks.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn i5_a_superseded_failure_does_not_take_a_live_lease_away() {
    for claim_first in [true, false] {
        let mut world = world();
        let first = tasks(&world.call(claim("a"), Wait::Quiet).1).remove(0);
        world.advance_real(1_000);
        let report = Report::Failed {
            failure: Failure::new("E", "late"),
            retryable: true,
            retry_after_ms: None,
            thrown: None,
        };
        let late = Command::Report { task: first.id, token: Some(first.token), report };
        let (commands, place) =
            if claim_first { (vec![claim("b"), late], 0) } else { (vec![late, claim("b")], 1) };
        let fates = world.call_all(commands);
        let second = tasks(&fates[place]);
        assert!(tasks(&world.call(claim("c"), Wait::Quiet).1).is_empty());
        if let Some(second) = second.first() {
            let lost = Fate::Answered(Err(Error::LeaseLost(first.id)));
            assert_eq!(fates[1 - place], lost, "only the latest claim may report");
            let report = Report::Completed(meantime_core::Json::null());
            let command = Command::Report { task: second.id, token: Some(second.token), report };
            assert_eq!(world.call(command, Wait::Quiet).1, Fate::Answered(Ok(Reply::Done)));
        }
    }
}

fn report(task: &ClaimedTask, report: Report) -> Command {
    Command::Report { task: task.id, token: Some(task.token), report }
}

fn completed() -> Report {
    Report::Completed(meantime_core::Json::null())
}

fn failed() -> Report {
    let failure = Failure::new("E", "try again");
    Report::Failed { failure, retryable: true, retry_after_ms: None, thrown: None }
}

#[test]
fn i5_of_two_reports_at_one_moment_one_is_taken() {
    for (one, other) in
        [(completed(), completed()), (completed(), failed()), (failed(), completed())]
    {
        let mut world = world();
        let task = tasks(&world.call(claim("a"), Wait::Quiet).1).remove(0);
        let fates = world.call_all(vec![report(&task, one), report(&task, other)]);
        let lost = Fate::Answered(Err(Error::LeaseLost(task.id)));
        assert_eq!(fates, [Fate::Answered(Ok(Reply::Done)), lost]);
        assert_eq!(world.counters().conflicts, 0, "both were judged in one turn");
    }
}

#[test]
fn i5_a_report_at_the_moment_of_its_expiry_is_taken() {
    let mut world = world();
    let task = tasks(&world.call(claim("a"), Wait::Quiet).1).remove(0);
    // The lease is over, and the report comes before anybody has looked.
    world.let_pass(world.now().real.saturating_add_millis(1_000));
    let (_, fate) = world.call(report(&task, completed()), Wait::Quiet);
    assert_eq!(fate, Fate::Answered(Ok(Reply::Done)));
}
