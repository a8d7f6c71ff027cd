//! Repairs II, item 16: what a start or a deployment brings about by itself is there when it is
//! answered. The harness counts commits, so the moment of an answer is exact.

use std::sync::Arc;

use meantime_core::{InstanceId, Source};
use meantime_kernel::command::{Command, Deployment, Reply, StartCommand, Wait};
use meantime_kernel::store::{MemoryStore, Page, TaskFilter, TimerFilter};
use meantime_sim::harness::{Fate, World, block_on};
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

fn world() -> World {
    World::with_probes(Arc::new(MemoryStore::new()), PROBES)
}

/// Starts an instance; gives the commits that were made before its answer, and all of them.
fn start(world: &mut World, definition: &str) -> (InstanceId, u64, u64) {
    let before = world.commits();
    let definition = definition.to_owned();
    let command = Command::Start(StartCommand { definition, ..StartCommand::default() });
    let (ticket, fate) = world.call(command, Wait::Quiet);
    let Fate::Answered(Ok(Reply::Started { instance, .. })) = fate else { panic!("{fate:?}") };
    let answered = world.answered_after(ticket).expect("it was answered");
    (instance, answered - before, world.commits() - before)
}

fn tasks(world: &World) -> usize {
    block_on(world.store.tasks(TaskFilter::default(), Page::first(1_000))).expect("tasks").len()
}

#[test]
fn the_first_task_of_a_child_is_there_when_the_start_is_answered() {
    let mut world = world();
    let (_, answered, all) = start(&mut world, "parent");
    assert_eq!((answered, all, tasks(&world)), (2, 2, 1));
}

#[test]
fn all_children_of_a_start_are_waited_for() {
    let mut world = world();
    let (_, answered, all) = start(&mut world, "family");
    assert_eq!((answered, tasks(&world)), (all, 3));
}

#[test]
fn a_start_with_very_many_children_is_answered_all_the_same() {
    let mut world = world();
    let (_, answered, all) = start(&mut world, "crowd");
    assert!(answered <= all, "{answered} of {all}");
    assert_eq!(tasks(&world), 100);
}

#[test]
fn what_a_deployment_arms_is_there_when_it_is_answered() {
    let mut world = world();
    let text = "probe nightly\ntrigger timer cycle R/PT1H\nend";
    let source = Source { name: "nightly".to_owned(), text: text.into(), files: Vec::new() };
    let limits = meantime_core::Limits::default();
    let compiled = meantime_core::Notation::compile(&Probe, &source, &limits);
    let definitions = compiled.definitions.into_iter().map(Arc::new).collect();
    let deployment = Deployment { notation: "probe".to_owned(), source, definitions };
    let (ticket, fate) = world.call(Command::Deploy(deployment), Wait::Quiet);
    assert!(matches!(fate, Fate::Answered(Ok(Reply::Deployed(_)))), "{fate:?}");
    assert_eq!(world.answered_after(ticket), Some(world.commits()));
    let timers = block_on(world.store.timers(TimerFilter::default(), Page::first(10)));
    assert_eq!(timers.expect("timers").len(), 1);
}
