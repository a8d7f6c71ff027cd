//! Reports and claims of the same task in one commit.

use std::sync::Arc;

use meantime_core::Failure;
use meantime_kernel::command::{
    ClaimCommand, ClaimedTask, Command, Error, Reply, Report, StartCommand, Wait,
};
use meantime_kernel::store::MemoryStore;
use meantime_sim::harness::{CallStatus, SimKernel};

const PROBE: &str = "
probe work
task w work attempts=10
await w
end
";

fn sim() -> SimKernel {
    let mut sim = SimKernel::with_probes(Arc::new(MemoryStore::new()), PROBE);
    let start = StartCommand { definition: "work".to_owned(), ..StartCommand::default() };
    sim.call(Command::Start(start), Wait::Quiet);
    sim
}

fn claim(worker: &str) -> Command {
    let worker = worker.to_owned();
    Command::Claim(ClaimCommand { worker, max: 1, lease_ms: 1_000, ..ClaimCommand::default() })
}

fn tasks(status: &CallStatus) -> Vec<ClaimedTask> {
    match status {
        CallStatus::Answered(Ok(Reply::Tasks(tasks))) => tasks.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn i5_a_superseded_failure_does_not_take_a_live_lease_away() {
    for claim_first in [true, false] {
        let mut sim = sim();
        let first = tasks(&sim.call(claim("a"), Wait::Quiet).1).remove(0);
        sim.advance_real(1_000);
        let report = Report::Failed {
            failure: Failure::new("E", "late"),
            retryable: true,
            retry_after_ms: None,
            thrown: None,
        };
        let late = Command::Report { task: first.id, token: Some(first.token), report };
        let (commands, place) =
            if claim_first { (vec![claim("b"), late], 0) } else { (vec![late, claim("b")], 1) };
        let statuses = sim.call_all(commands);
        let second = tasks(&statuses[place]);
        assert!(tasks(&sim.call(claim("c"), Wait::Quiet).1).is_empty());
        if let Some(second) = second.first() {
            let lost = CallStatus::Answered(Err(Error::LeaseLost(first.id)));
            assert_eq!(statuses[1 - place], lost, "only the latest claim may report");
            let report = Report::Completed(meantime_core::Json::null());
            let command = Command::Report { task: second.id, token: Some(second.token), report };
            assert_eq!(sim.call(command, Wait::Quiet).1, CallStatus::Answered(Ok(Reply::Done)));
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
        let mut sim = sim();
        let task = tasks(&sim.call(claim("a"), Wait::Quiet).1).remove(0);
        let statuses = sim.call_all(vec![report(&task, one), report(&task, other)]);
        let lost = CallStatus::Answered(Err(Error::LeaseLost(task.id)));
        assert_eq!(statuses, [CallStatus::Answered(Ok(Reply::Done)), lost]);
        assert_eq!(sim.counters().conflicts, 0, "both were decided in one turn");
    }
}

#[test]
fn i5_a_report_at_the_moment_of_its_expiry_is_taken() {
    let mut sim = sim();
    let task = tasks(&sim.call(claim("a"), Wait::Quiet).1).remove(0);
    // The lease has expired, and the report arrives before the machine has processed the expiry.
    sim.set_clock_silently(sim.now().real.saturating_add_millis(1_000));
    let (_, status) = sim.call(report(&task, completed()), Wait::Quiet);
    assert_eq!(status, CallStatus::Answered(Ok(Reply::Done)));
}
