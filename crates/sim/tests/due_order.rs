//! T8: after downtime, overdue timers fire in the order of their due times, per definition, however
//! long reading, loading and computing take.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_core::{DefinitionId, Json, Limits, Timestamp};
use meantime_kernel::clock::Now;
use meantime_kernel::command::{Command, StartCommand};
use meantime_kernel::history::Record;
use meantime_kernel::machine::{Config, Input, Machine, Notations, Output};
use meantime_kernel::random::{Entropy, SeededEntropy};
use meantime_kernel::schedule::{SCHEDULE_NOTATION, ScheduleNotation};
use meantime_kernel::store::{
    DefinitionFilter, Fence, InstanceFilter, MemoryStore, Page, Partition, Phase, Plan, Store,
    Write,
};
use meantime_sim::harness::{SimKernel, block_on};
use meantime_sim::probe::Probe;
use meantime_store::postgres::cluster::database;
use meantime_store::postgres::{self, PostgresStore};
use meantime_store::sqlite::{self, SqliteStore};

const PROBES: &str = "
probe one
timer t $input
await t
end

probe two
timer t $input
await t
end
";

/// More than fit into several batches.
const TIMERS: u64 = 3_000;

/// Arms timers of two definitions whose due times are in another order than their instances.
fn arm_timers(store: Arc<dyn Store>, entropy: &mut SeededEntropy) {
    let mut sim = SimKernel::with_probes(store, PROBES);
    let commands = (0..TIMERS).map(|number| {
        let definition = if number % 3 == 0 { "one" } else { "two" }.to_owned();
        let input = Json::of(&format!("PT{}S", 60 + entropy.next() % 7_200)).expect("JSON");
        Command::Start(StartCommand { definition, input, ..StartCommand::default() })
    });
    sim.call_all(commands.collect());
}

/// The due times of the timers that a plan fires, by definition.
fn fired(plan: &Plan) -> BTreeMap<DefinitionId, Vec<Timestamp>> {
    let mut fired: BTreeMap<DefinitionId, Vec<Timestamp>> = BTreeMap::new();
    for unit in &plan.units {
        let Fence::Turn { row, .. } = &unit.fence else { continue };
        for write in &unit.writes {
            let Write::History(history) = write else { continue };
            for record in &history.records {
                if let Record::TimerFired { due_at, .. } = record {
                    fired.entry(row.definition).or_default().push(*due_at);
                }
            }
        }
    }
    fired
}

/// A new process on the store. Its answers arrive in any order; commits reach the store in order.
fn drain(store: &dyn Store, entropy: &mut SeededEntropy) {
    let notations = Notations::default()
        .with("probe", Arc::new(Probe))
        .with(SCHEDULE_NOTATION, Arc::new(ScheduleNotation));
    let limits = Limits::default();
    let rows = block_on(store.definitions(DefinitionFilter::default())).expect("readable");
    let recovered = block_on(store.recover(Partition::ALL)).expect("readable");
    let now = Now::at(recovered.clock.saturating_add_millis(4 * 3_600_000));
    let seed = Box::new(SeededEntropy::new(entropy.next()));
    let mut machine = Machine::new(Config::default(), notations.clone(), seed);
    machine.handle(now, Input::Recovered(recovered, rows));
    let mut last: BTreeMap<DefinitionId, Timestamp> = BTreeMap::new();
    let mut answers: Vec<Input> = Vec::new();
    loop {
        while let Some(output) = machine.poll() {
            answers.extend(match output {
                Output::Fetch(batch, request) => {
                    Some(Input::Fetched(batch, block_on(store.fetch(request))))
                }
                Output::Advance(batch, jobs) => {
                    let turns = jobs.iter().map(|job| Some(job.run())).collect();
                    Some(Input::Advanced(batch, turns))
                }
                Output::Commit(batch, fetched, plan) => {
                    for (definition, due) in fired(&plan) {
                        let before = last.get(&definition).copied();
                        assert!(due.iter().min().copied() >= before, "{definition:?} overtook");
                        last.extend(due.iter().max().map(|due| (definition, *due)));
                    }
                    Some(Input::Committed(batch, block_on(store.commit(fetched, plan))))
                }
                Output::LoadTimers(query) => Some(Input::Timers(block_on(store.due_timers(query)))),
                Output::LoadDefinition(id) => {
                    let row = block_on(store.definition(id)).expect("readable");
                    let loaded = row.and_then(|row| notations.load(&row, &limits));
                    Some(Input::Definition(id, Box::new(loaded)))
                }
                _ => None,
            });
        }
        if answers.is_empty() {
            return;
        }
        let place = entropy.next() % u64::try_from(answers.len()).unwrap_or(1);
        machine.handle(now, answers.swap_remove(usize::try_from(place).unwrap_or(0)));
    }
}

/// Timers fall due while no process is running; then a new process fires them.
fn overdue_timers_fire_in_due_order(store: &Arc<dyn Store>, seed: u64) {
    let mut entropy = SeededEntropy::new(seed);
    arm_timers(store.clone(), &mut entropy);
    drain(&**store, &mut entropy);
    let all = block_on(store.instances(InstanceFilter::default(), Page::first(usize::MAX)));
    let waiting = all.expect("readable").iter().filter(|row| row.phase == Phase::Running).count();
    assert_eq!(waiting, 0, "every timer fired");
}

#[test]
fn t8_overdue_timers_fire_in_due_order_whatever_comes_first() {
    for seed in 0..12 {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        overdue_timers_fire_in_due_order(&store, seed);
    }
}

#[test]
fn t8_overdue_timers_fire_in_due_order_on_sqlite() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("meantime.db");
    let store = SqliteStore::open(&path, sqlite::Options::default()).expect("a new store");
    let store: Arc<dyn Store> = Arc::new(store);
    overdue_timers_fire_in_due_order(&store, 12);
}

#[test]
fn t8_overdue_timers_fire_in_due_order_on_postgres() {
    let database = database().expect("PostgreSQL");
    let options = postgres::Options { shared: false, ..database.options() };
    let store = block_on(PostgresStore::open(options)).expect("a new store");
    let store: Arc<dyn Store> = Arc::new(store);
    overdue_timers_fire_in_due_order(&store, 13);
}
