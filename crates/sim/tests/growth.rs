//! How the amount of work grows with the size of the input: counted, not timed.

use std::sync::Arc;

use meantime_bpmn::Bpmn;
use meantime_core::{Json, Source, TaskKind, Timestamp};
use meantime_kernel::command::{Command, Reply, Report, StartCommand, Wait};
use meantime_kernel::machine::{Config, Notations};
use meantime_kernel::store::{InstanceFilter, MemoryStore, Page, Phase, TaskFilter};
use meantime_sim::harness::{CallStatus, SimKernel, block_on};
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
    let mut sim = SimKernel::with_probes(Arc::new(MemoryStore::new()), PROBES);
    let (_, status) = sim.call(start("counter"), Wait::Quiet);
    let CallStatus::Answered(Ok(Reply::Started { instance, .. })) = status else {
        panic!("{status:?}")
    };
    let before = sim.counters();
    let signals = (0..10_000).map(|number| Command::Signal {
        instance,
        name: "s".to_owned(),
        payload: Json::of(&number).unwrap(),
    });
    sim.call_all(signals.collect());
    let turns = sim.counters().turns - before.turns;
    assert!(turns <= 10_010, "{turns} turns");
    let row = block_on(sim.store.instance(instance)).unwrap().unwrap();
    assert_eq!(row.phase, Phase::Completed);
}

#[test]
fn one_parent_with_ten_thousand_children_needs_few_turns_of_its_own() {
    let mut sim = SimKernel::with_probes(Arc::new(MemoryStore::new()), PROBES);
    let before = sim.counters();
    let (_, status) = sim.call(start("parent"), Wait::Idle);
    let CallStatus::Answered(Ok(Reply::Started { instance, .. })) = status else {
        panic!("{status:?}")
    };
    let row = block_on(sim.store.instance(instance)).unwrap().unwrap();
    assert_eq!(row.phase, Phase::Completed);
    assert!(row.turn_no <= 100, "{} turns of the parent", row.turn_no);
    let turns = sim.counters().turns - before.turns;
    assert!(turns <= 10_000 + 100, "{turns} turns in all");
    let all = block_on(sim.store.instances(InstanceFilter::default(), Page::first(usize::MAX)));
    assert!(all.unwrap().iter().all(|row| row.phase == Phase::Completed));
}

#[test]
fn i12_an_hour_with_nothing_due_needs_no_statement() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("meantime.db");
    let store = Arc::new(SqliteStore::open(path, Options::default()).unwrap());
    let mut sim = SimKernel::with_probes(store.clone(), PROBES);
    sim.call_all((0..20_000).map(|_| start("sleeper")).collect());
    let hour = sim.now().engine.saturating_add_millis(3_600_000);
    let before = store.stats();
    sim.advance_to(hour);
    let after = store.stats();
    assert_eq!(after.statements, before.statements);
}

const GUARDED: &str = r#"
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL">
  <process id="guarded" isExecutable="true">
    <startEvent id="start"/>
    <userTask id="work"/>
    <boundaryEvent id="late" attachedToRef="work">
      <timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>
    </boundaryEvent>
    <sequenceFlow id="f" sourceRef="start" targetRef="work"/>
  </process>
</definitions>"#;

#[test]
fn b4_ten_thousand_boundary_timers_of_which_half_are_cancelled_leave_no_row_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("meantime.db");
    let store = Arc::new(SqliteStore::open(path.clone(), Options::default()).unwrap());
    let notations = Notations::default().with(meantime_bpmn::NOTATION, Arc::new(Bpmn));
    let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    let mut sim = SimKernel::new(store, notations, Config::default(), now);
    let source = Source { name: String::new(), text: GUARDED.into(), files: Vec::new() };
    sim.deploy(meantime_bpmn::NOTATION, source);
    sim.call_all((0..10_000).map(|_| start("guarded")).collect());
    let filter = TaskFilter { kind: Some(TaskKind::User), ..TaskFilter::default() };
    let tasks = block_on(sim.store.tasks(filter, Page::first(20_000))).unwrap();
    assert_eq!(tasks.len(), 10_000);
    let reports = tasks.iter().step_by(2).map(|task| {
        let report = Report::Completed(Json::null());
        Command::Report { task: task.id, token: None, report }
    });
    sim.call_all(reports.collect());
    let completed = (sim.counters().fired, rows(&path, "timer"), rows(&path, "task"));
    assert_eq!(completed, (0, 5_000, 5_000));
    sim.advance_to(now.saturating_add_millis(3_600_000));
    assert_eq!((sim.counters().fired, sim.counters().stale_fires), (5_000, 0));
    let all = block_on(sim.store.instances(InstanceFilter::default(), Page::first(usize::MAX)));
    assert!(all.unwrap().iter().all(|row| row.phase == Phase::Completed));
    for table in ["timer", "task", "inbox", "subscription", "incident"] {
        assert_eq!(rows(&path, table), 0, "{table}");
    }
}

fn rows(path: &std::path::Path, table: &str) -> u32 {
    let connection = rusqlite::Connection::open(path).expect("the file opens");
    let count = format!("SELECT count(*) FROM {table}");
    connection.query_row(&count, [], |row| row.get(0)).expect("a table can be counted")
}
