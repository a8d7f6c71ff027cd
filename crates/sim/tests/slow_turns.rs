//! Turns that take long: their batch does not wait, other instances continue, and an operator can
//! cancel them.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::{
    Compiled, Cx, Definition, Diagnostic, Event, Fault, InstanceId, Json, Limits, Notation, Source,
    Start, State, Timestamp, Turn, View,
};
use meantime_kernel::clock::{Now, VirtualClock};
use meantime_kernel::command::{Command, Error, Reply, StartCommand, Wait};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::{Config, Input, Machine, Notations, Output, Ticket};
use meantime_kernel::random::SeededEntropy;
use meantime_kernel::store::{MemoryStore, Page, Phase, Recovered, Store};
use meantime_sim::harness::{CallStatus, SimKernel, SlowTurns, block_on};
use meantime_sim::probe::Probe;
use meantime_store::postgres::cluster::{Database, database};
use meantime_store::postgres::{LeaseClock, Options, PostgresStore};

const PROBES: &str = "
probe waits
signal s go
await s
end $s

probe troubled
incident t E_ELEMENT
await t
end

probe short
end \"done\"

probe slow
end \"done\"

probe stuck
timer t PT1S
await t
end \"done\"

probe wide
fan 400 work
join
end \"all\"
";

fn sim() -> SimKernel {
    SimKernel::with_probes(Arc::new(MemoryStore::new()), PROBES)
}

fn started(status: CallStatus) -> InstanceId {
    match status {
        CallStatus::Answered(Ok(Reply::Started { instance, .. })) => instance,
        other => panic!("{other:?}"),
    }
}

fn start(definition: &str) -> Command {
    let definition = definition.to_owned();
    Command::Start(StartCommand { definition, ..StartCommand::default() })
}

fn signal(instance: InstanceId) -> Command {
    Command::Signal { instance, name: "go".to_owned(), payload: Json::null() }
}

fn cancel(instance: InstanceId) -> Command {
    let audit = AuditInfo { actor: "operator".to_owned(), reason: "too slow".to_owned() };
    Command::Cancel { instance, audit }
}

fn phase(sim: &SimKernel, instance: InstanceId) -> Phase {
    let row = block_on(sim.store.instance(instance)).expect("the store can be read");
    row.expect("it is there").phase
}

#[test]
fn a_batch_that_does_not_end_is_told_by_its_age() {
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let entropy = Box::new(SeededEntropy::new(1));
    let mut machine = Machine::new(Config::default(), notations, entropy);
    let at = |text: &str| Timestamp::parse(text).expect("an instant");
    let (begun, later) = (at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:06Z"));
    machine.handle(Now::at(begun), Input::Recovered(Recovered::default(), Vec::new()));
    assert_eq!(machine.levels(later).oldest_batch_ms, None);
    let command = Command::Broadcast { name: "news".to_owned(), payload: Json::null() };
    machine.handle(Now::at(begun), Input::Command(Ticket(1), Box::new(command), Wait::Quiet));
    let commits = std::iter::from_fn(|| machine.poll()).any(|it| matches!(it, Output::Commit(..)));
    assert!(commits);
    // The levels show how long the store has not answered.
    assert_eq!(machine.levels(later).oldest_batch_ms, Some(6_000));
}

#[test]
fn a_slow_turn_holds_up_nobody_and_is_committed_when_it_is_through() {
    let mut sim = sim();
    let (one, other) = (
        started(sim.call(start("waits"), Wait::Quiet).1),
        started(sim.call(start("waits"), Wait::Quiet).1),
    );
    sim.set_slow_turns(SlowTurns::Held);
    let (slow, status) = sim.call(signal(one), Wait::Quiet);
    assert_eq!(status, CallStatus::Waiting);
    sim.set_slow_turns(SlowTurns::Before);
    assert!(matches!(sim.call(signal(other), Wait::Quiet).1, CallStatus::Answered(Ok(_))));
    assert_eq!((phase(&sim, one), phase(&sim, other)), (Phase::Running, Phase::Completed));
    sim.set_slow_turns(SlowTurns::None);
    sim.run();
    assert!(matches!(sim.call_status(slow), CallStatus::Answered(Ok(_))));
    assert_eq!(phase(&sim, one), Phase::Completed);
    assert_eq!(sim.counters().slow_turns, 1);
}

/// The number of commits that it takes to start these at the same instant.
fn commits_to_start(definitions: &[&str]) -> u64 {
    let mut sim = sim();
    let before = sim.commits();
    let statuses = sim.call_all(definitions.iter().map(|name| start(name)).collect());
    for status in statuses {
        started(status);
    }
    sim.commits() - before
}

#[test]
fn heavy_turns_are_committed_one_by_one_and_light_ones_do_not_wait_for_them() {
    assert_eq!(commits_to_start(&["wide", "short"]), commits_to_start(&["wide"]));
    // Two of them together have more effects than one commit should contain.
    let more = commits_to_start(&["wide", "wide", "short"]);
    assert_eq!(more, commits_to_start(&["wide", "short"]) + 1);
}

#[test]
fn whoever_retries_an_incident_in_a_slow_turn_hears_that_it_is_done() {
    let mut sim = sim();
    let one = started(sim.call(start("troubled"), Wait::Quiet).1);
    let raised = block_on(sim.store.incidents(Some(one), Page::first(9))).expect("they read");
    let audit = AuditInfo { actor: "operator".to_owned(), reason: "it is mended".to_owned() };
    sim.set_slow_turns(SlowTurns::All);
    let retry = Command::RetryIncident { incident: raised[0].id, audit };
    assert_eq!(sim.call(retry, Wait::Quiet).1, CallStatus::Answered(Ok(Reply::Done)));
    assert_eq!((phase(&sim, one), sim.counters().slow_turns), (Phase::Completed, 1));
}

#[test]
fn a_crash_during_a_slow_turn_loses_only_what_nobody_was_told() {
    let mut sim = sim();
    let one = started(sim.call(start("waits"), Wait::Quiet).1);
    sim.set_slow_turns(SlowTurns::Held);
    let (slow, _) = sim.call(signal(one), Wait::Quiet);
    sim.set_slow_turns(SlowTurns::None);
    sim.crash();
    sim.run();
    // The client repeats a command that was never answered.
    assert!(matches!(sim.call_status(slow), CallStatus::Answered(Ok(_))));
    assert_eq!(phase(&sim, one), Phase::Completed);
}

#[test]
fn a_cancel_overtakes_the_event_that_takes_so_long() {
    let mut sim = sim();
    let one = started(sim.call(start("waits"), Wait::Quiet).1);
    sim.set_slow_turns(SlowTurns::Held);
    let (slow, _) = sim.call(signal(one), Wait::Quiet);
    sim.set_slow_turns(SlowTurns::Before);
    assert!(matches!(sim.call(cancel(one), Wait::Quiet).1, CallStatus::Answered(Ok(_))));
    assert_eq!(phase(&sim, one), Phase::Cancelled);
    assert_eq!(sim.call_status(slow), CallStatus::Answered(Err(Error::InstanceEnded(one))));
    assert_eq!(sim.counters().slow_turns_dropped, 1);
    // The result of a turn whose instance has been cancelled is discarded.
    sim.set_slow_turns(SlowTurns::None);
    sim.run();
    assert_eq!(phase(&sim, one), Phase::Cancelled);
}

#[test]
fn a_second_cancel_ends_an_instance_without_its_notation() {
    let mut sim = sim();
    let one = started(sim.call(start("waits"), Wait::Quiet).1);
    sim.set_slow_turns(SlowTurns::Held);
    sim.call(signal(one), Wait::Quiet);
    let (first, status) = sim.call(cancel(one), Wait::Quiet);
    assert_eq!((status, phase(&sim, one)), (CallStatus::Waiting, Phase::Running));
    assert!(matches!(sim.call(cancel(one), Wait::Quiet).1, CallStatus::Answered(Ok(_))));
    assert_eq!(phase(&sim, one), Phase::Cancelled);
    assert!(matches!(sim.call_status(first), CallStatus::Answered(Ok(_))));
}

/// Attempts of a node to get at a row whose lock another one is about to give up.
const ATTEMPTS: usize = 1_000;

/// Two nodes on one database, with clocks that the test moves.
struct TwoNodes {
    sims: [SimKernel; 2],
    _database: Database,
}

impl TwoNodes {
    fn new() -> Self {
        let database = database().expect("PostgreSQL");
        let node = || -> Arc<dyn Store> {
            let idle_timeout = std::time::Duration::from_mins(10);
            let lease_clock = LeaseClock::Caller;
            let options = Options { lease_clock, idle_timeout, ..database.options() };
            Arc::new(block_on(PostgresStore::open(options)).expect("it opens"))
        };
        let sims = [node(), node()].map(|store| SimKernel::with_probes(store, PROBES));
        let mut nodes = Self { sims, _database: database };
        nodes.renew_leases();
        nodes
    }

    fn renew_leases(&mut self) {
        for _ in 0..2 {
            self.sims.iter_mut().for_each(SimKernel::renew_lease);
        }
    }

    /// Gives a command to the second node, which tries again while the row is locked.
    fn call_other(&mut self, command: Command) -> CallStatus {
        let (ticket, _) = self.sims[1].call(command, Wait::Quiet);
        for _ in 0..ATTEMPTS {
            if self.sims[1].call_status(ticket) != CallStatus::Waiting {
                break;
            }
            self.renew_leases();
            self.sims.iter_mut().for_each(|sim| sim.advance_real(100));
        }
        self.sims[1].call_status(ticket)
    }
}

#[test]
fn on_postgresql_a_slow_turn_gives_up_its_locks_and_the_fence_decides() {
    let mut nodes = TwoNodes::new();
    for (command, expected) in
        [(cancel as fn(InstanceId) -> Command, Phase::Cancelled), (signal, Phase::Completed)]
    {
        let one = started(nodes.sims[0].call(start("waits"), Wait::Quiet).1);
        nodes.sims[0].set_slow_turns(SlowTurns::Held);
        let (slow, status) = nodes.sims[0].call(signal(one), Wait::Quiet);
        assert_eq!(status, CallStatus::Waiting);
        let conflicts = nodes.sims[0].counters().conflicts;
        let answered = nodes.call_other(command(one));
        assert!(matches!(answered, CallStatus::Answered(Ok(_))), "{expected:?}: {answered:?}");
        assert_eq!(phase(&nodes.sims[1], one), expected);
        // The turn was computed from a state that is no longer the latest.
        nodes.sims[0].set_slow_turns(SlowTurns::None);
        nodes.sims[0].run();
        let told = nodes.sims[0].call_status(slow);
        assert_eq!(told, CallStatus::Answered(Err(Error::InstanceEnded(one))));
        assert_eq!(nodes.sims[0].counters().conflicts, conflicts + 1);
        assert_eq!(phase(&nodes.sims[0], one), expected);
    }
}

/// A notation whose definitions `slow`, when it starts, and `stuck`, when its timer fires, compute
/// until the test releases them.
struct Stuck {
    inner: Probe,
    gate: Mutex<Receiver<()>>,
}

impl Stuck {
    fn new() -> (Arc<Self>, Sender<()>) {
        let (release, gate) = mpsc::channel();
        (Arc::new(Self { inner: Probe, gate: Mutex::new(gate) }), release)
    }

    /// Waits until the test releases it, or has ended.
    fn compute(&self) {
        let _ = self.gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
    }
}

impl Notation for Stuck {
    fn compile(&self, source: &Source, limits: &Limits) -> Compiled {
        self.inner.compile(source, limits)
    }

    fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic> {
        self.inner.lint(definition, now)
    }

    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        if definition.name == "slow" {
            self.compute();
        }
        self.inner.start(definition, start, cx)
    }

    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        let is_due = events.iter().any(|it| matches!(it, Event::TimerFired { .. }));
        if definition.name == "stuck" && is_due {
            self.compute();
        }
        self.inner.advance(definition, state, events, cx)
    }

    fn inspect(&self, definition: &Definition, state: &State) -> View {
        self.inner.inspect(definition, state)
    }
}

async fn kernel(store: Arc<dyn Store>, notation: Arc<Stuck>) -> Kernel {
    let notations = Notations::default().with("probe", notation);
    let kernel = Builder::new(store, notations).start().await.expect("the kernel starts");
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    kernel
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn computations_that_do_not_end_leave_every_thread_to_the_others() {
    const STUCK: usize = 16;
    let (notation, release) = Stuck::new();
    let kernel = kernel(Arc::new(MemoryStore::new()), notation).await;
    let stuck: Vec<_> = (0..STUCK)
        .map(|_| {
            let kernel = kernel.clone();
            tokio::spawn(async move { kernel.call(start("slow")).await })
        })
        .collect();
    for _ in 0..200 {
        kernel.call(start("short")).await.expect("nobody waits for the others");
    }
    let (_, levels) = kernel.counted().await.expect("the loop answers");
    assert_eq!(levels.slow_turns, STUCK);
    for _ in 0..STUCK {
        release.send(()).expect("somebody waits");
    }
    for start in stuck {
        assert!(matches!(start.await, Ok(Ok(Reply::Started { .. }))));
    }
    let (counters, levels) = kernel.counted().await.expect("the loop answers");
    assert_eq!((counters.slow_turns, levels.slow_turns), (STUCK as u64, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_whose_due_timers_never_come_through_opens_serves_others_and_lets_go_of_them() {
    const STUCK: usize = 16;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let at = |text: &str| Timestamp::parse(text).expect("an instant");
    let opened = async |notation: Arc<dyn Notation>, now: &str| {
        let notations = Notations::default().with("probe", notation);
        let clock = Arc::new(VirtualClock::new(at(now)));
        let builder = Builder::new(store.clone(), notations).virtual_clock(clock);
        builder.start().await.expect("the kernel starts")
    };
    let before = opened(Arc::new(Probe), "2026-01-01T00:00:00Z").await;
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    before.deploy("probe", source).await.expect("the probes are good");
    let mut stuck = Vec::new();
    for _ in 0..STUCK {
        match before.call(start("stuck")).await {
            Ok(Reply::Started { instance, .. }) => stuck.push(instance),
            other => panic!("{other:?}"),
        }
    }
    before.stop().await;
    // The process that takes over finds every timer due, and no turn of theirs ends.
    let (notation, release) = Stuck::new();
    let kernel = opened(notation, "2026-01-01T00:01:00Z").await;
    for _ in 0..200 {
        kernel.call(start("short")).await.expect("nobody waits for the others");
    }
    loop {
        let (_, levels) = kernel.counted().await.expect("the loop answers");
        if levels.slow_turns == STUCK {
            break;
        }
    }
    for id in stuck {
        kernel.call(cancel(id)).await.expect("it is cancelled");
        let row = store.instance(id).await.expect("the store can be read").expect("it is there");
        assert_eq!(row.phase, Phase::Cancelled);
    }
    drop(release);
    kernel.stop().await;
}
