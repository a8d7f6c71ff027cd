//! What a start or a deployment causes by itself is committed before it is answered. The harness
//! counts commits, so the moment of an answer is exact.

use std::sync::Arc;

use meantime_core::{InstanceId, Source};
use meantime_kernel::command::{Command, Deployment, Reply, StartCommand, Wait};
use meantime_kernel::store::{MemoryStore, Page, TaskFilter, TimerFilter};
use meantime_sim::harness::{CallStatus, SimKernel, block_on};
use meantime_sim::probe::Probe;

const PROBES: &str = "
probe parent
child c kid
await c
end

probe kid
task w work
await w
end

probe family
brood 3 kid
join
end

probe crowd
brood 100 kid
join
end
";

fn sim() -> SimKernel {
    SimKernel::with_probes(Arc::new(MemoryStore::new()), PROBES)
}

/// Starts an instance; returns the number of commits before its answer, and in total.
fn start(sim: &mut SimKernel, definition: &str) -> (InstanceId, u64, u64) {
    let before = sim.commits();
    let definition = definition.to_owned();
    let command = Command::Start(StartCommand { definition, ..StartCommand::default() });
    let (ticket, status) = sim.call(command, Wait::Quiet);
    let CallStatus::Answered(Ok(Reply::Started { instance, .. })) = status else {
        panic!("{status:?}")
    };
    let answered = sim.answered_after(ticket).expect("it was answered");
    (instance, answered - before, sim.commits() - before)
}

fn tasks(sim: &SimKernel) -> usize {
    block_on(sim.store.tasks(TaskFilter::default(), Page::first(1_000))).expect("tasks").len()
}

#[test]
fn the_first_task_of_a_child_is_there_when_the_start_is_answered() {
    let mut sim = sim();
    let (_, answered, all) = start(&mut sim, "parent");
    assert_eq!((answered, all, tasks(&sim)), (2, 2, 1));
}

#[test]
fn all_children_of_a_start_are_waited_for() {
    let mut sim = sim();
    let (_, answered, all) = start(&mut sim, "family");
    assert_eq!((answered, tasks(&sim)), (all, 3));
}

#[test]
fn a_start_with_very_many_children_is_answered_all_the_same() {
    let mut sim = sim();
    let (_, answered, all) = start(&mut sim, "crowd");
    assert!(answered <= all, "{answered} of {all}");
    assert_eq!(tasks(&sim), 100);
}

#[test]
fn what_a_deployment_arms_is_there_when_it_is_answered() {
    let mut sim = sim();
    let text = "probe nightly\ntrigger timer cycle R/PT1H\nend";
    let source = Source { name: "nightly".to_owned(), text: text.into(), files: Vec::new() };
    let limits = meantime_core::Limits::default();
    let compiled = meantime_core::Notation::compile(&Probe, &source, &limits);
    let definitions = compiled.definitions.into_iter().map(Arc::new).collect();
    let deployment = Deployment { notation: "probe".to_owned(), source, definitions };
    let (ticket, status) = sim.call(Command::Deploy(deployment), Wait::Quiet);
    assert!(matches!(status, CallStatus::Answered(Ok(Reply::Deployed(_)))), "{status:?}");
    assert_eq!(sim.answered_after(ticket), Some(sim.commits()));
    let timers = block_on(sim.store.timers(TimerFilter::default(), Page::first(10)));
    assert_eq!(timers.expect("timers").len(), 1);
}
