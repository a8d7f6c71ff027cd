//! What grows with what: counted, not timed.

use std::sync::Arc;

use meantime_core::Json;
use meantime_kernel::command::{Command, Reply, StartCommand, Wait};
use meantime_kernel::store::{InstanceFilter, MemoryStore, Page, Phase};
use meantime_sim::harness::{Fate, World, block_on};
use meantime_store::sqlite::{Options, SqliteStore};

const PROBES: &str = "
probe counter
again:
signal s s
await s
repeat 10000 again
end \"all\"

probe parent
brood 10000 leaf
join
end \"all\"

probe leaf
end

probe sleeper
timer t P1Y
await t
end
";

fn start(definition: &str) -> Command {
    let definition = definition.to_owned();
    Command::Start(StartCommand { definition, ..StartCommand::default() })
}

#[test]
fn ten_thousand_signals_to_one_instance_cost_a_turn_each_at_most() {
    let mut world = World::with_probes(Arc::new(MemoryStore::new()), PROBES);
    let (_, fate) = world.call(start("counter"), Wait::Quiet);
    let Fate::Answered(Ok(Reply::Started { instance, .. })) = fate else { panic!("{fate:?}") };
    let before = world.counters();
    let signals = (0..10_000).map(|number| Command::Signal {
        instance,
        name: "s".to_owned(),
        payload: Json::of(&number).unwrap(),
    });
    world.call_all(signals.collect());
    let turns = world.counters().turns - before.turns;
    assert!(turns <= 10_010, "{turns} turns");
    let row = block_on(world.store.instance(instance)).unwrap().unwrap();
    assert_eq!(row.phase, Phase::Completed);
}

#[test]
fn one_parent_with_ten_thousand_children_needs_few_turns_of_its_own() {
    let mut world = World::with_probes(Arc::new(MemoryStore::new()), PROBES);
    let before = world.counters();
    let (_, fate) = world.call(start("parent"), Wait::Settled);
    let Fate::Answered(Ok(Reply::Started { instance, .. })) = fate else { panic!("{fate:?}") };
    let row = block_on(world.store.instance(instance)).unwrap().unwrap();
    assert_eq!(row.phase, Phase::Completed);
    assert!(row.turn_no <= 100, "{} turns of the parent", row.turn_no);
    let turns = world.counters().turns - before.turns;
    assert!(turns <= 10_000 + 100, "{turns} turns in all");
    let all = block_on(world.store.instances(InstanceFilter::default(), Page::first(usize::MAX)));
    assert!(all.unwrap().iter().all(|row| row.phase == Phase::Completed));
}

#[test]
fn i12_an_hour_with_nothing_due_needs_no_statement() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("meantime.db");
    let store = Arc::new(SqliteStore::open(path, Options::default()).unwrap());
    let mut world = World::with_probes(store.clone(), PROBES);
    world.call_all((0..20_000).map(|_| start("sleeper")).collect());
    let hour = world.now().engine.saturating_add_millis(3_600_000);
    let before = store.stats();
    world.advance_to(hour);
    let after = store.stats();
    assert_eq!(after.statements, before.statements);
}
