//! Workers: they claim, extend, complete, fail, report late, report twice, or die.

use meantime_core::{Failure, Json, Thrown, Timestamp};
use meantime_kernel::command::{ClaimCommand, ClaimedTask, Command, Report};

use super::state::{HeldTask, WorkerIntent};
use crate::simulation::coverage_counts::CountGroup;
use crate::simulation::programs::{QUEUE_NAMES, TASK_TYPES};
use crate::simulation::run::Simulation;
use crate::simulation::setup::FaultFamily;

const LONG_LEASE_MS: u64 = 60_000;

impl Simulation {
    pub(super) fn act_as_worker(&mut self) {
        match self.workload.rng.below(10) {
            0..=2 => self.claim_tasks(),
            3 => self.act_as_person(),
            4 => self.act_as_engine(),
            _ => {
                if !self.finish_held_task() {
                    self.claim_tasks();
                }
            }
        }
    }

    fn claim_tasks(&mut self) {
        let wait_ms = self.workload.rng.pick(&[0, 0, 50, 20_000]);
        let claim = self.random_claim(wait_ms);
        let name = if wait_ms > 0 { "claim and wait" } else { "claim" };
        self.send_command(name, Command::Claim(claim));
    }

    fn random_claim(&mut self, wait_ms: u64) -> ClaimCommand {
        let rng = &mut self.workload.rng;
        let types = match rng.below(3) {
            0 => vec![rng.pick(&TASK_TYPES).to_owned()],
            _ => Vec::new(),
        };
        let queues = match rng.below(3) {
            0 => vec!["slow".to_owned()],
            1 => QUEUE_NAMES.map(str::to_owned).to_vec(),
            _ => Vec::new(),
        };
        ClaimCommand {
            worker: rng.pick(&["w1", "w2", "w3"]).to_owned(),
            types,
            queues,
            max: rng.pick(&[1, 2, 10]),
            lease_ms: rng.pick(&[20, 1_000, LONG_LEASE_MS]),
            wait_ms,
        }
    }

    /// Decides what a worker will do with a claimed task.
    pub(super) fn accept_task(&mut self, task: &ClaimedTask, real: Timestamp) {
        self.commit_log.record_delivery(task.id);
        let mut held =
            HeldTask { task: task.clone(), intent: WorkerIntent::Complete, not_before: real };
        if self.faults_stopped {
            self.workload.held_tasks.push(held);
            return;
        }
        if self.setup.has_fault(FaultFamily::WorkerCrash) && self.workload.rng.percent(15) {
            self.counts.count(CountGroup::Fault, FaultFamily::WorkerCrash.name());
            return;
        }
        if self.setup.has_fault(FaultFamily::WorkerFails) && self.workload.rng.percent(30) {
            self.counts.count(CountGroup::Fault, FaultFamily::WorkerFails.name());
            let all = [
                WorkerIntent::FailOnce,
                WorkerIntent::FailOnce,
                WorkerIntent::FailPermanently,
                WorkerIntent::Throw,
            ];
            held.intent = self.workload.rng.pick(&all);
        } else if self.workload.rng.percent(20) {
            held.intent = WorkerIntent::Extend;
        }
        if self.setup.has_fault(FaultFamily::WorkerLate) && self.workload.rng.percent(15) {
            self.counts.count(CountGroup::Fault, FaultFamily::WorkerLate.name());
            let late_commits = self.workload.rng.between(1, 5_000);
            held.not_before = task.lease_until.saturating_add_millis(late_commits);
        }
        self.workload.held_tasks.push(held);
    }

    /// Lets a worker continue a task that it holds.
    pub(super) fn finish_held_task(&mut self) -> bool {
        let real = self.nodes.iter().map(|node| node.clock.real).max().unwrap_or_default();
        let ready = |it: &HeldTask| self.faults_stopped || it.not_before <= real;
        let places: Vec<usize> = (0..self.workload.held_tasks.len())
            .filter(|it| ready(&self.workload.held_tasks[*it]))
            .collect();
        let Some(place) = self.workload.rng.pick_optional(&places).copied() else { return false };
        let held = self.workload.held_tasks.swap_remove(place);
        let HeldTask { task, intent, .. } = held.clone();
        if intent == WorkerIntent::Extend && !self.faults_stopped {
            let lease_ms = self.workload.rng.pick(&[10, LONG_LEASE_MS]);
            self.send_command(
                "extend",
                Command::Extend { task: task.id, token: task.token, lease_ms },
            );
            self.workload.held_tasks.push(HeldTask { intent: WorkerIntent::Complete, ..held });
            return true;
        }
        let (name, report) = self.worker_report(intent);
        let command = Command::Report { task: task.id, token: Some(task.token), report };
        self.send_command(name, command);
        if !self.faults_stopped && self.workload.rng.percent(30) {
            let claim = self.random_claim(0);
            self.send_command("claim with a report", Command::Claim(claim));
        }
        if !self.faults_stopped
            && self.setup.has_fault(FaultFamily::WorkerTwice)
            && self.workload.rng.percent(20)
        {
            self.counts.count(CountGroup::Fault, FaultFamily::WorkerTwice.name());
            self.workload.held_tasks.push(HeldTask { intent: WorkerIntent::Complete, ..held });
        }
        true
    }

    fn worker_report(&mut self, intent: WorkerIntent) -> (&'static str, Report) {
        let failed = |retryable: bool, thrown: Option<Thrown>, after: Option<u64>| {
            let failure = Failure::new("WORKER", "it did not work");
            Report::Failed { failure, retryable, retry_after_ms: after, thrown }
        };
        match intent {
            WorkerIntent::Complete | WorkerIntent::Extend => {
                ("complete", Report::Completed(self.workload.payload()))
            }
            WorkerIntent::FailOnce => {
                let after = self.workload.rng.pick(&[None, Some(0), Some(3_000)]);
                ("fail once", failed(true, None, after))
            }
            WorkerIntent::FailPermanently => ("fail for good", failed(false, None, None)),
            WorkerIntent::Throw => {
                let thrown = Thrown { code: "OUCH".to_owned(), variables: Some(Json::null()) };
                ("throw", failed(true, Some(thrown), None))
            }
        }
    }

    fn act_as_engine(&mut self) {
        let node = self.workload.rng.below(self.nodes.len());
        if self.setup.has_fault(FaultFamily::WorkerFails) && self.workload.rng.percent(35) {
            let failure = Failure::new("ENGINE", "it did not work");
            let retryable = self.workload.rng.percent(70);
            let (retry_after_ms, thrown) = (None, None);
            let report = Report::Failed { failure, retryable, retry_after_ms, thrown };
            self.report_engine_task(node, "fail by the engine", report);
        } else {
            let report = Report::Completed(self.workload.payload());
            self.report_engine_task(node, "complete by the engine", report);
        }
    }
}
