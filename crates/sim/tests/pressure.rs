//! Children and the limits of the queue: children that are committed cannot be refused, so they
//! delay the starts of the definition that began them (P9, I8).

use std::sync::Arc;

use meantime_core::{InstanceId, Source, Timestamp};
use meantime_kernel::command::{Command, Error, Reply, StartCommand, Wait};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::{Config, Notations};
use meantime_kernel::store::{MemoryStore, Phase};
use meantime_sim::harness::{CallStatus, SimKernel, block_on};
use meantime_sim::probe::Probe;

/// Seven children are seventy percent of a queue of ten.
const PROBES: &str = "
probe family
brood 7 member
join
end

probe small
brood 6 member
join
end

probe member
signal s go
await s
end
";

fn start(definition: &str) -> Command {
    let definition = definition.to_owned();
    Command::Start(StartCommand { definition, ..StartCommand::default() })
}

fn started(status: &CallStatus) -> InstanceId {
    match status {
        CallStatus::Answered(Ok(Reply::Started { instance, .. })) => *instance,
        other => panic!("{other:?}"),
    }
}

fn sim() -> SimKernel {
    let mut config = Config::default();
    config.limits.queued_turns = 10;
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let now = Timestamp::parse("2026-01-01T00:00:00Z").expect("an instant");
    let mut sim = SimKernel::new(Arc::new(MemoryStore::new()), notations, config, now);
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    assert!(matches!(sim.deploy("probe", source), CallStatus::Answered(Ok(_))));
    sim
}

#[test]
fn children_that_wait_refuse_starts_of_who_began_them_and_of_nobody_else() {
    let mut sim = sim();
    let earlier = started(&sim.call(start("member"), Wait::Quiet).1);
    let audit = AuditInfo { actor: "operator".to_owned(), reason: "enough".to_owned() };
    let cancel = Command::Cancel { instance: earlier, audit };
    let meanwhile = vec![start("family"), start("member"), start("small"), cancel];
    let tickets = sim.send_after_commit(meanwhile);
    started(&sim.call(start("family"), Wait::Quiet).1);
    let [refused, other, small, cancelled] =
        std::array::from_fn(|number| sim.call_status(tickets[number]));
    assert_eq!(refused, CallStatus::Answered(Err(Error::Overloaded)));
    started(&other);
    started(&small);
    assert!(matches!(cancelled, CallStatus::Answered(Ok(_))));
    assert_eq!(sim.counters().overloaded, 1);
    let row = block_on(sim.store.instance(earlier)).expect("it can be read").expect("it is there");
    assert_eq!(row.phase, Phase::Cancelled);
    // The children have had their turns, and nothing waits any longer.
    started(&sim.call(start("family"), Wait::Quiet).1);
}

#[test]
fn fewer_children_than_the_limit_refuse_nothing() {
    let mut sim = sim();
    let tickets = sim.send_after_commit(vec![start("small"), start("family")]);
    started(&sim.call(start("small"), Wait::Quiet).1);
    for ticket in tickets {
        started(&sim.call_status(ticket));
    }
    assert_eq!(sim.counters().overloaded, 0);
}
