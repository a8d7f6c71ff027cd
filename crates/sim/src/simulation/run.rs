//! Runs one seed: kernels, a store, callers and workers, and the checks at the end.

use std::collections::BTreeSet;
use std::sync::{Arc, Once};

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::clock::Now;
use meantime_kernel::store::Store;

use super::commit_log::CommitLog;
use super::coverage_counts::{CountGroup, CoverageCounts};
use super::membership::LateCommit;
use super::node::Node;
use super::programs::Programs;
use super::randomness::Randomness;
use super::setup::{FaultFamily, SeedSetup};
use super::store_fixture::StoreFixture;
use super::workload::state::WorkloadState;
use crate::checker::{self, CallRecord, RunRecord, StoredRows, Violation};

/// The result of one seed.
#[derive(Debug)]
pub struct SeedOutcome {
    /// The seed.
    pub seed: u64,
    /// Violations that the checkers found.
    pub violations: Vec<Violation>,
    /// The hash of every commit and every reply.
    pub hash: u64,
    /// The hash after each commit.
    pub hashes: Vec<u64>,
    /// Counts of what happened.
    pub counts: CoverageCounts,
    /// The log, if it was requested.
    pub log: Vec<String>,
}

/// The state of a running seed.
pub(super) struct Simulation {
    pub(super) setup: SeedSetup,
    pub(super) fixture: StoreFixture,
    /// For checks and for reading.
    pub(super) store: Arc<dyn Store>,
    /// Commits of dead processes that have not arrived yet.
    pub(super) late_commits: Vec<LateCommit>,
    pub(super) rng: Randomness,
    pub(super) nodes: Vec<Node>,
    pub(super) calls: Vec<CallRecord>,
    pub(super) commit_log: CommitLog,
    pub(super) counts: CoverageCounts,
    pub(super) violations: Vec<Violation>,
    /// Logical time: one more with every step.
    pub(super) logical_time: u64,
    /// Faults have stopped.
    pub(super) faults_stopped: bool,
    pub(super) store_full_until: u64,
    pub(super) partial_failure_until: u64,
    /// Kinds of calls that fail during a partial failure.
    pub(super) failing_calls: Vec<&'static str>,
    pub(super) workload: WorkloadState,
    pub(super) purged: BTreeSet<InstanceId>,
    pub(super) has_purged: bool,
    log: Option<Vec<String>>,
}

/// The initial time of the clocks.
const START_TIME: &str = "2026-01-01T00:00:00Z";

/// Runs a seed on a store, with a log of everything that happens if requested.
pub fn run_seed(setup: &SeedSetup, fixture: StoreFixture, with_log: bool) -> SeedOutcome {
    silence_expected_panics();
    let mut rng = Randomness::new(setup.seed ^ 0x5eed);
    let begin = Now::at(Timestamp::parse(START_TIME).unwrap_or_default());
    let node = |rng: &mut Randomness| Node::new(fixture.open(), begin, rng.fork());
    let nodes = (0..setup.nodes).map(|_| node(&mut rng)).collect();
    let programs = Programs::generate(setup.programs, &mut rng.fork());
    let mut simulation = Simulation {
        setup: setup.clone(),
        store: fixture.store.clone(),
        late_commits: Vec::new(),
        nodes,
        calls: Vec::new(),
        commit_log: CommitLog::default(),
        counts: CoverageCounts::default(),
        violations: Vec::new(),
        logical_time: 0,
        faults_stopped: true,
        store_full_until: 0,
        partial_failure_until: 0,
        failing_calls: Vec::new(),
        workload: WorkloadState::new(programs, rng.fork()),
        purged: BTreeSet::new(),
        has_purged: false,
        log: with_log.then(Vec::new),
        rng,
        fixture,
    };
    simulation.run_steps();
    simulation.into_outcome()
}

impl Simulation {
    fn run_steps(&mut self) {
        self.start_nodes();
        self.faults_stopped = false;
        for _ in 0..self.setup.steps {
            self.logical_time += 1;
            self.run_step();
            if !self.violations.is_empty() {
                return;
            }
        }
        self.run_to_quiescence();
    }

    /// Performs one random step.
    fn run_step(&mut self) {
        let node = self.rng.below(self.nodes.len());
        self.restart_nodes();
        self.deliver_late_commit();
        if self.nodes[node].has_failed {
            self.crash_node(node);
            return;
        }
        self.deliver_notices(node);
        match self.rng.below(100) {
            0..=54 => {
                // A call in flight advances; if there is none, a client acts.
                if !self.advance_one_call(node) {
                    self.act_once();
                }
            }
            55..=79 => self.act_once(),
            80..=96 => self.advance_randomly(),
            _ => self.inject_fault(node),
        }
        for node in 0..self.nodes.len() {
            let wants = self.nodes[node].needs_poll && !self.is_frozen(node);
            if wants && self.rng.percent(90) {
                self.poll_machine(node);
            }
        }
    }

    /// Injects a fault that is not a failing store call.
    fn inject_fault(&mut self, node: usize) {
        let fault = self.rng.pick(&[
            FaultFamily::Crash,
            FaultFamily::ClockForward,
            FaultFamily::ClockBack,
            FaultFamily::PartialFailure,
            FaultFamily::Frozen,
            FaultFamily::Partitioned,
        ]);
        if !self.setup.has_fault(fault) {
            return;
        }
        match fault {
            FaultFamily::Crash if self.draw_rare_crash() => self.crash_node(node),
            FaultFamily::PartialFailure => {
                let kinds =
                    ["fetch", "commit", "timers", "verify", "definition", "recover", "renew_lease"];
                self.failing_calls = kinds.into_iter().filter(|_| self.rng.percent(40)).collect();
                self.partial_failure_until = self.logical_time + 5 + self.rng.below(60) as u64;
            }
            FaultFamily::ClockForward | FaultFamily::ClockBack => self.jump_clock(fault),
            FaultFamily::Frozen | FaultFamily::Partitioned => self.freeze_or_partition(node, fault),
            _ => {}
        }
    }

    /// Keeps crashes rare enough that work makes progress between them.
    fn draw_rare_crash(&mut self) -> bool {
        self.rng.percent(40)
    }

    /// Adds a line to the log, if there is one.
    pub(super) fn trace(&mut self, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(format!("{:>5} {}", self.logical_time, line()));
        }
    }

    /// The latest time of any process.
    pub(super) fn now(&self) -> Timestamp {
        self.nodes.iter().map(|node| node.clock.engine).max().unwrap_or_default()
    }

    fn into_outcome(mut self) -> SeedOutcome {
        let was_sound = self.violations.is_empty();
        if was_sound {
            match self.run_record() {
                Ok(run_record) => checker::check_run(&run_record, &mut self.violations),
                Err(error) => panic!("the store cannot be read: {error}"),
            }
        }
        SeedOutcome {
            seed: self.setup.seed,
            violations: self.violations,
            hash: self.commit_log.hash(),
            hashes: self.commit_log.hashes,
            counts: self.counts,
            log: self.log.unwrap_or_default(),
        }
    }

    fn run_record(&mut self) -> Result<RunRecord, meantime_kernel::store::Error> {
        let now = self.engine_time();
        let mut rows = StoredRows::read(&*self.store, now)?;
        rows.waiting = self.fixture.memory.as_ref().map(|memory| {
            let (inbox, messages, subscriptions) = memory.waiting();
            checker::StoredWaits { inbox, messages, subscriptions }
        });
        Ok(RunRecord {
            calls: std::mem::take(&mut self.calls),
            rows,
            turns: std::mem::take(&mut self.commit_log.turns),
            accepted: std::mem::take(&mut self.commit_log.accepted),
            purged: std::mem::take(&mut self.purged),
            held: std::mem::take(&mut self.commit_log.held),
            has_purged: self.has_purged,
            may_have_forgotten: self.has_purged
                && self.counts.count_of(CountGroup::Fault, FaultFamily::ClockForward.name()) > 0,
            has_turns: true,
            limits: self.setup.config.limits.clone(),
        })
    }
}

/// Keeps the expected panics of poison payloads out of the output.
fn silence_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload().downcast_ref::<&str>();
            if text != Some(&"a payload that panics") {
                usual(info);
            }
        }));
    });
}
