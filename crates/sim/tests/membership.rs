//! Several nodes on one store.

use std::sync::Arc;

use meantime_core::{InstanceId, Json, Timestamp};
use meantime_kernel::command::{ClaimCommand, Command, Reply, Report, StartCommand, Wait};
use meantime_kernel::history::Record;
use meantime_kernel::store::{InstanceFilter, InstanceRow, MemoryStore, Page, Phase, Store};
use meantime_sim::harness::{CallStatus, SimKernel, block_on};

const PROBES: &str = "
probe sleeper
timer t PT10S
await t
end \"woke\"

probe work
task w work attempts=10
await w
end \"worked\"
";

/// Nodes that share a store. Each has its own clock; tests move them together.
struct Nodes {
    store: Arc<dyn Store>,
    sims: Vec<SimKernel>,
}

impl Nodes {
    fn new(count: usize) -> Self {
        let first = MemoryStore::new();
        let node = || -> Arc<dyn Store> { Arc::new(first.for_node()) };
        let sims = (0..count).map(|_| SimKernel::with_probes(node(), PROBES)).collect();
        let mut nodes = Self { store: node(), sims };
        nodes.settle();
        nodes
    }

    /// Lets all nodes see each other, and runs them until they are idle.
    fn settle(&mut self) {
        for _ in 0..2 {
            self.sims.iter_mut().for_each(SimKernel::renew_lease);
        }
    }

    fn run(&mut self) {
        for _ in 0..3 {
            self.sims.iter_mut().for_each(SimKernel::run);
        }
    }

    /// Lets seconds pass, with heartbeats.
    fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            for sim in &mut self.sims {
                let next = sim.now().engine.saturating_add_millis(1_000);
                sim.advance_to(next);
            }
            self.run();
            self.settle();
        }
    }

    fn start(&mut self, node: usize, definition: &str, wait: Wait) -> CallStatus {
        let start = StartCommand { definition: definition.to_owned(), ..StartCommand::default() };
        self.sims[node].call(Command::Start(start), wait).1
    }

    fn instances(&self) -> Vec<InstanceRow> {
        let filter = InstanceFilter::default();
        let rows = block_on(self.store.instances(filter, Page::first(10_000)));
        rows.expect("rows can be read")
    }

    fn fired(&self, row: &InstanceRow) -> usize {
        let rows = block_on(self.store.history(row.last_history, 1_000)).expect("history");
        let records = rows.iter().flat_map(|row| &row.records);
        records.filter(|record| matches!(record, Record::TimerFired { .. })).count()
    }
}

fn started(status: &CallStatus) -> InstanceId {
    match status {
        CallStatus::Answered(Ok(Reply::Started { instance, .. })) => *instance,
        other => panic!("{other:?}"),
    }
}

fn claim(wait_ms: u64) -> Command {
    Command::Claim(ClaimCommand {
        worker: "w".to_owned(),
        max: 10,
        lease_ms: 20_000,
        wait_ms,
        ..ClaimCommand::default()
    })
}

#[test]
fn i3_every_timer_fires_once_whoever_armed_it() {
    let mut nodes = Nodes::new(3);
    for number in 0..60 {
        nodes.start(number % 3, "sleeper", Wait::Quiet);
    }
    nodes.pass(9);
    assert!(nodes.instances().iter().all(|row| row.phase == Phase::Running));
    nodes.pass(2);
    let rows = nodes.instances();
    assert_eq!(rows.len(), 60);
    for row in rows {
        assert_eq!((row.phase, nodes.fired(&row)), (Phase::Completed, 1));
    }
    let fired = nodes.sims.iter().map(|sim| sim.counters().fired);
    assert!(fired.clone().all(|count| count > 5), "each node fires its share");
    assert_eq!(fired.sum::<u64>(), 60);
}

#[test]
fn a_lost_notice_makes_a_timer_late_not_lost() {
    let mut nodes = Nodes::new(2);
    for _ in 0..20 {
        nodes.start(0, "sleeper", Wait::Quiet);
    }
    nodes.sims[1].drop_notices();
    nodes.pass(11);
    assert!(nodes.instances().iter().all(|row| row.phase == Phase::Completed));
}

#[test]
fn what_a_dead_node_left_is_taken_up_by_the_others() {
    let mut nodes = Nodes::new(2);
    for _ in 0..20 {
        nodes.start(0, "sleeper", Wait::Quiet);
        nodes.start(0, "work", Wait::Quiet);
    }
    let claimed = nodes.sims[0].call(claim(0), Wait::Quiet).1;
    assert!(matches!(claimed, CallStatus::Answered(Ok(Reply::Tasks(tasks))) if tasks.len() == 10));
    // The first node dies while workers hold ten tasks that it handed out.
    nodes.sims.remove(0);
    nodes.pass(40);
    let rows = nodes.instances();
    let woke = rows.iter().filter(|row| row.phase == Phase::Completed).count();
    assert_eq!(woke, 20);
    let CallStatus::Answered(Ok(Reply::Tasks(all))) = nodes.sims[0].call(claim(0), Wait::Quiet).1
    else {
        panic!("a claim is answered");
    };
    assert_eq!(all.len(), 10);
    let rest = nodes.sims[0].call(claim(0), Wait::Quiet).1;
    assert!(matches!(rest, CallStatus::Answered(Ok(Reply::Tasks(tasks))) if tasks.len() == 10));
}

#[test]
fn i5_a_node_that_was_silent_too_long_writes_nothing_until_it_has_a_lease_again() {
    let mut nodes = Nodes::new(2);
    let mut frozen = nodes.sims.remove(0);
    nodes.pass(20);
    frozen.set_clock_silently(nodes.sims[0].now().engine);
    let start = StartCommand { definition: "sleeper".to_owned(), ..StartCommand::default() };
    let status = frozen.call(Command::Start(start), Wait::Quiet).1;
    assert_eq!(status, CallStatus::Waiting);
    assert_eq!(nodes.instances().len(), 0);
    frozen.renew_lease();
    nodes.sims.push(frozen);
    nodes.settle();
    assert_eq!(nodes.instances().len(), 1);
}

#[test]
fn callers_of_a_node_without_a_lease_are_refused_after_five_seconds_of_its_time() {
    let mut nodes = Nodes::new(2);
    let mut frozen = nodes.sims.remove(0);
    nodes.pass(20);
    let begun = nodes.sims[0].now().engine;
    frozen.set_clock_silently(begun);
    let start = StartCommand { definition: "sleeper".to_owned(), ..StartCommand::default() };
    let (started, _) = frozen.call(Command::Start(start), Wait::Quiet);
    let (claimed, _) = frozen.call(claim(60_000), Wait::Quiet);
    frozen.advance_to(begun.saturating_add_millis(4_999));
    for ticket in [started, claimed] {
        assert_eq!(frozen.call_status(ticket), CallStatus::Waiting);
    }
    frozen.advance_to(begun.saturating_add_millis(5_000));
    for ticket in [started, claimed] {
        let status = frozen.call_status(ticket);
        let CallStatus::Answered(Err(error)) = &status else { panic!("{status:?}") };
        assert_eq!(error.code(), "store_unavailable");
    }
    // A refused command is not carried out later.
    frozen.renew_lease();
    nodes.sims.push(frozen);
    nodes.settle();
    assert_eq!(nodes.instances().len(), 0);
}

#[test]
fn a_waiting_claim_hears_of_a_task_made_elsewhere() {
    let mut nodes = Nodes::new(2);
    let (ticket, status) = nodes.sims[1].call(claim(60_000), Wait::Quiet);
    assert_eq!(status, CallStatus::Waiting);
    nodes.start(0, "work", Wait::Quiet);
    nodes.run();
    let status = nodes.sims[1].call_status(ticket);
    assert!(matches!(status, CallStatus::Answered(Ok(Reply::Tasks(tasks))) if tasks.len() == 1));
}

#[test]
fn a_caller_hears_that_its_instance_came_to_rest_elsewhere() {
    let mut nodes = Nodes::new(2);
    let start = StartCommand { definition: "work".to_owned(), ..StartCommand::default() };
    let (ticket, status) = nodes.sims[0].call(Command::Start(start), Wait::Idle);
    assert_eq!(status, CallStatus::Waiting);
    let CallStatus::Answered(Ok(Reply::Tasks(tasks))) = nodes.sims[1].call(claim(0), Wait::Quiet).1
    else {
        panic!("a claim is answered");
    };
    let task = &tasks[0];
    let report = Report::Completed(Json::null());
    let report = Command::Report { task: task.id, token: Some(task.token), report };
    nodes.sims[1].call(report, Wait::Quiet);
    nodes.run();
    let instance = started(&nodes.sims[0].call_status(ticket));
    let row = block_on(nodes.store.instance(instance)).expect("it can be read");
    assert_eq!(row.map(|row| (row.phase, row.meta.awaited_at)), Some((Phase::Completed, None)));
}

/// Another node ends the instance, after it was idle in between.
#[test]
fn a_caller_hears_of_the_end_that_comes_elsewhere() {
    let mut nodes = Nodes::new(2);
    let instance = started(&nodes.start(0, "work", Wait::Quiet));
    let (ticket, status) = nodes.sims[0].call(Command::Await { instance }, Wait::Ended);
    assert_eq!(status, CallStatus::Waiting);
    let CallStatus::Answered(Ok(Reply::Tasks(tasks))) = nodes.sims[1].call(claim(0), Wait::Quiet).1
    else {
        panic!("a claim is answered");
    };
    nodes.run();
    assert_eq!(nodes.sims[0].call_status(ticket), CallStatus::Waiting);
    let report = Report::Completed(Json::null());
    let report = Command::Report { task: tasks[0].id, token: Some(tasks[0].token), report };
    nodes.sims[1].call(report, Wait::Quiet);
    nodes.run();
    assert_eq!(nodes.sims[0].call_status(ticket), CallStatus::Answered(Ok(Reply::Done)));
    let row =
        block_on(nodes.store.instance(instance)).expect("it can be read").expect("it is there");
    assert_eq!((row.phase, row.meta.end_awaited_at), (Phase::Completed, None));
}

#[test]
fn a_definition_deployed_elsewhere_can_be_started_at_once() {
    let mut nodes = Nodes::new(2);
    let text = "probe late\nend \"yes\"\n".into();
    let source = meantime_core::Source { name: "late".to_owned(), text, files: Vec::new() };
    nodes.sims[0].deploy("probe", source);
    nodes.sims[1].drop_notices();
    started(&nodes.start(1, "late", Wait::Quiet));
    let unknown = nodes.start(1, "nowhere", Wait::Quiet);
    assert!(matches!(unknown, CallStatus::Answered(Err(_))));
}

#[test]
fn ids_of_different_nodes_never_meet() {
    let mut nodes = Nodes::new(3);
    for number in 0..300 {
        nodes.start(number % 3, "sleeper", Wait::Quiet);
    }
    let mut orders: Vec<u64> = nodes.instances().iter().map(|row| row.id.order()).collect();
    orders.sort_unstable();
    orders.dedup();
    assert_eq!(orders.len(), 300);
    assert!(nodes.sims.iter().all(|sim| sim.counters().conflicts == 0));
    assert_eq!(nodes.sims[0].now().engine, Timestamp::parse("2026-01-01T00:00:00Z").expect("ok"));
}
