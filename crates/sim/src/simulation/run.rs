//! One seed: a world of kernels, a store, callers and workers, and what becomes of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Once};

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::clock::Now;
use meantime_kernel::store::Store;

use super::bed::Bed;
use super::chance::Chance;
use super::journal::Journal;
use super::membership::Late;
use super::node::Node;
use super::programs::Programs;
use super::setup::{Fault, Setup};
use super::tally::{Group, Tally};
use super::workload::load::Load;
use crate::checker::{self, Call, Chronicle, Rows, Violation};

/// What came out of a seed.
#[derive(Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Promises that were broken.
    pub violations: Vec<Violation>,
    /// The hash of everything that took effect and everything that was told.
    pub hash: u64,
    /// The same after each commit.
    pub hashes: Vec<u64>,
    /// What happened.
    pub tally: Tally,
    /// The story, if it was asked for.
    pub story: Vec<String>,
}

/// A run under way.
pub(super) struct Run {
    pub(super) setup: Setup,
    pub(super) bed: Bed,
    /// For reading.
    pub(super) store: Arc<dyn Store>,
    /// Commits of processes that are dead.
    pub(super) late: Vec<Late>,
    pub(super) chance: Chance,
    pub(super) nodes: Vec<Node>,
    pub(super) calls: Vec<Call>,
    pub(super) journal: Journal,
    pub(super) tally: Tally,
    pub(super) found: Vec<Violation>,
    /// Counts things that happen.
    pub(super) moment: u64,
    /// Faults have stopped.
    pub(super) is_quiet: bool,
    pub(super) full_until: u64,
    pub(super) torn_until: u64,
    /// Calls that fail while the store is torn.
    pub(super) torn: Vec<&'static str>,
    pub(super) load: Load,
    pub(super) purged: BTreeSet<InstanceId>,
    pub(super) has_purged: bool,
    story: Option<Vec<String>>,
}

/// When the clocks begin.
const BEGIN: &str = "2026-01-01T00:00:00Z";

/// Runs a seed on a store. With a story, everything that happens is told.
pub fn run(setup: &Setup, bed: Bed, with_story: bool) -> Outcome {
    hush();
    let mut chance = Chance::new(setup.seed ^ 0x5eed);
    let begin = Now::at(Timestamp::parse(BEGIN).unwrap_or_default());
    let node = |chance: &mut Chance| Node::new(bed.open(), begin, chance.fork());
    let nodes = (0..setup.nodes).map(|_| node(&mut chance)).collect();
    let programs = Programs::generate(setup.programs, &mut chance.fork());
    let mut run = Run {
        setup: setup.clone(),
        store: bed.store.clone(),
        late: Vec::new(),
        nodes,
        calls: Vec::new(),
        journal: Journal::default(),
        tally: Tally::default(),
        found: Vec::new(),
        moment: 0,
        is_quiet: true,
        full_until: 0,
        torn_until: 0,
        torn: Vec::new(),
        load: Load::new(programs, chance.fork()),
        purged: BTreeSet::new(),
        has_purged: false,
        story: with_story.then(Vec::new),
        chance,
        bed,
    };
    run.live();
    run.finish()
}

impl Run {
    fn live(&mut self) {
        self.begin();
        self.is_quiet = false;
        for _ in 0..self.setup.steps {
            self.moment += 1;
            self.step();
            if !self.found.is_empty() {
                return;
            }
        }
        self.settle();
    }

    /// One thing happens.
    fn step(&mut self) {
        let node = self.chance.below(self.nodes.len());
        self.come_back();
        self.arrive_late();
        if self.nodes[node].gave_up {
            self.crash(node);
            return;
        }
        self.hear(node);
        match self.chance.below(100) {
            0..=54 => {
                // Something under way goes on; when nothing is, somebody acts.
                if !self.go_on(node) {
                    self.act();
                }
            }
            55..=79 => self.act(),
            80..=96 => self.pass_time(),
            _ => self.disturb(node),
        }
        for node in 0..self.nodes.len() {
            let wants = self.nodes[node].is_restless && !self.stands_still(node);
            if wants && self.chance.percent(90) {
                self.poll(node);
            }
        }
    }

    /// Something goes wrong that is not a call of the store.
    fn disturb(&mut self, node: usize) {
        let fault = self.chance.pick(&[
            Fault::Crash,
            Fault::ClockForward,
            Fault::ClockBack,
            Fault::Torn,
            Fault::Frozen,
            Fault::CutOff,
        ]);
        if !self.setup.has(fault) {
            return;
        }
        match fault {
            Fault::Crash if self.may_crash_now() => self.crash(node),
            Fault::Torn => {
                let kinds =
                    ["take", "commit", "timers", "verify", "definition", "recover", "renew_lease"];
                self.torn = kinds.into_iter().filter(|_| self.chance.percent(40)).collect();
                self.torn_until = self.moment + 5 + self.chance.below(60) as u64;
            }
            Fault::ClockForward | Fault::ClockBack => self.jump(fault),
            Fault::Frozen | Fault::CutOff => self.take_out(node, fault),
            _ => {}
        }
    }

    /// Crashes come now and then, not all the time.
    fn may_crash_now(&mut self) -> bool {
        self.chance.percent(40)
    }

    /// Tells the story, if somebody listens.
    pub(super) fn trace(&mut self, line: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(format!("{:>5} {}", self.moment, line()));
        }
    }

    /// The latest time of any process.
    pub(super) fn now(&self) -> Timestamp {
        self.nodes.iter().map(|node| node.clock.engine).max().unwrap_or_default()
    }

    fn finish(mut self) -> Outcome {
        let was_sound = self.found.is_empty();
        if was_sound {
            match self.chronicle() {
                Ok(chronicle) => checker::eventually_and_finally(&chronicle, &mut self.found),
                Err(error) => panic!("the store cannot be read: {error}"),
            }
        }
        Outcome {
            seed: self.setup.seed,
            violations: self.found,
            hash: self.journal.hash(),
            hashes: self.journal.hashes,
            tally: self.tally,
            story: self.story.unwrap_or_default(),
        }
    }

    fn chronicle(&mut self) -> Result<Chronicle, meantime_kernel::store::Error> {
        let now = self.engine_time();
        let mut rows = Rows::read(&*self.store, now)?;
        rows.waiting = self.bed.memory.as_ref().map(|memory| {
            let (inbox, messages, subscriptions) = memory.waiting();
            checker::Waiting { inbox, messages, subscriptions }
        });
        Ok(Chronicle {
            calls: std::mem::take(&mut self.calls),
            rows,
            turns: std::mem::take(&mut self.journal.turns),
            accepted: std::mem::take(&mut self.journal.accepted),
            purged: std::mem::take(&mut self.purged),
            held: std::mem::take(&mut self.journal.held),
            has_purged: self.has_purged,
            may_have_forgotten: self.has_purged
                && self.tally.of(Group::Fault, Fault::ClockForward.name()) > 0,
            listened: true,
            limits: self.setup.config.limits.clone(),
        })
    }
}

/// Payloads that panic are part of the game; nobody wants to read of each.
fn hush() {
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
