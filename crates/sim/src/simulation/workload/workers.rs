//! Workers: they claim, extend, report, fail, come late, come twice, or never come back.

use meantime_core::{Failure, Json, Thrown, Timestamp};
use meantime_kernel::command::{ClaimCommand, ClaimedTask, Command, Report};

use super::load::{Holding, Intent};
use crate::simulation::programs::{QUEUES, TYPES};
use crate::simulation::run::Run;
use crate::simulation::setup::Fault;
use crate::simulation::tally::Group;

const LONG_LEASE_MS: u64 = 60_000;

impl Run {
    pub(super) fn work(&mut self) {
        match self.load.chance.below(10) {
            0..=2 => self.claim(),
            3 => self.person(),
            4 => self.engine_works(),
            _ => {
                if !self.handle_one() {
                    self.claim();
                }
            }
        }
    }

    fn claim(&mut self) {
        let chance = &mut self.load.chance;
        let wait_ms = chance.pick(&[0, 0, 50, 20_000]);
        let types = match chance.below(3) {
            0 => vec![chance.pick(&TYPES).to_owned()],
            _ => Vec::new(),
        };
        let queues = match chance.below(3) {
            0 => vec!["slow".to_owned()],
            1 => QUEUES.map(str::to_owned).to_vec(),
            _ => Vec::new(),
        };
        let claim = ClaimCommand {
            worker: chance.pick(&["w1", "w2", "w3"]).to_owned(),
            types,
            queues,
            max: chance.pick(&[1, 2, 10]),
            lease_ms: chance.pick(&[20, 1_000, LONG_LEASE_MS]),
            wait_ms,
        };
        let name = if wait_ms > 0 { "claim and wait" } else { "claim" };
        self.ask(name, Command::Claim(claim));
    }

    /// A worker has a task, and its own mind about it.
    pub(super) fn take_up(&mut self, task: &ClaimedTask, real: Timestamp) {
        let mut holding =
            Holding { task: task.clone(), intent: Intent::Complete, not_before: real };
        if self.is_quiet {
            self.load.holdings.push(holding);
            return;
        }
        if self.setup.has(Fault::WorkerCrash) && self.load.chance.percent(15) {
            self.tally.count(Group::Fault, Fault::WorkerCrash.name());
            return;
        }
        if self.setup.has(Fault::WorkerFails) && self.load.chance.percent(30) {
            self.tally.count(Group::Fault, Fault::WorkerFails.name());
            let all = [Intent::FailOnce, Intent::FailOnce, Intent::FailForGood, Intent::Throw];
            holding.intent = self.load.chance.pick(&all);
        } else if self.load.chance.percent(20) {
            holding.intent = Intent::Extend;
        }
        if self.setup.has(Fault::WorkerLate) && self.load.chance.percent(15) {
            self.tally.count(Group::Fault, Fault::WorkerLate.name());
            let late = self.load.chance.between(1, 5_000);
            holding.not_before = task.lease_until.saturating_add_millis(late);
        }
        self.load.holdings.push(holding);
    }

    /// A worker goes on with a task it holds.
    pub(super) fn handle_one(&mut self) -> bool {
        let real = self.nodes.iter().map(|node| node.clock.real).max().unwrap_or_default();
        let ready = |it: &Holding| self.is_quiet || it.not_before <= real;
        let places: Vec<usize> =
            (0..self.load.holdings.len()).filter(|it| ready(&self.load.holdings[*it])).collect();
        let Some(place) = self.load.chance.pick_any(&places).copied() else { return false };
        let holding = self.load.holdings.swap_remove(place);
        let Holding { task, intent, .. } = holding.clone();
        if intent == Intent::Extend && !self.is_quiet {
            let lease_ms = self.load.chance.pick(&[10, LONG_LEASE_MS]);
            self.ask("extend", Command::Extend { task: task.id, token: task.token, lease_ms });
            self.load.holdings.push(Holding { intent: Intent::Complete, ..holding });
            return true;
        }
        let (name, report) = self.report(intent);
        let command = Command::Report { task: task.id, token: Some(task.token), report };
        self.ask(name, command);
        if !self.is_quiet && self.setup.has(Fault::WorkerTwice) && self.load.chance.percent(20) {
            self.tally.count(Group::Fault, Fault::WorkerTwice.name());
            self.load.holdings.push(Holding { intent: Intent::Complete, ..holding });
        }
        true
    }

    fn report(&mut self, intent: Intent) -> (&'static str, Report) {
        let failed = |retryable: bool, thrown: Option<Thrown>, after: Option<u64>| {
            let failure = Failure::new("WORKER", "it did not work");
            Report::Failed { failure, retryable, retry_after_ms: after, thrown }
        };
        match intent {
            Intent::Complete | Intent::Extend => {
                ("complete", Report::Completed(self.load.payload()))
            }
            Intent::FailOnce => {
                let after = self.load.chance.pick(&[None, Some(0), Some(3_000)]);
                ("fail once", failed(true, None, after))
            }
            Intent::FailForGood => ("fail for good", failed(false, None, None)),
            Intent::Throw => {
                let thrown = Thrown { code: "OUCH".to_owned(), variables: Some(Json::null()) };
                ("throw", failed(true, Some(thrown), None))
            }
        }
    }

    fn engine_works(&mut self) {
        let node = self.load.chance.below(self.nodes.len());
        if self.setup.has(Fault::WorkerFails) && self.load.chance.percent(35) {
            let failure = Failure::new("ENGINE", "it did not work");
            let retryable = self.load.chance.percent(70);
            let (retry_after_ms, thrown) = (None, None);
            let report = Report::Failed { failure, retryable, retry_after_ms, thrown };
            self.engine_reports(node, "fail by the engine", report);
        } else {
            let report = Report::Completed(self.load.payload());
            self.engine_reports(node, "complete by the engine", report);
        }
    }
}
