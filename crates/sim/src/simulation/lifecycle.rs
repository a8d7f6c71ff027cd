//! Processes start, crash and restart.

use meantime_kernel::command::{Command, Deployment};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::{Config, Input, Output};
use meantime_kernel::schedule::{SCHEDULE_NOTATION, schedule_source};
use meantime_kernel::store::DefinitionFilter;

use super::coverage_counts::CountGroup;
use super::membership::LateCommit;
use super::node::CallStage;
use super::run::Simulation;
use super::setup::FaultFamily;
use crate::harness::block_on;

impl Simulation {
    /// Starts every process and deploys the first programs.
    pub(super) fn start_nodes(&mut self) {
        for node in 0..self.nodes.len() {
            self.boot_node(node);
        }
        self.run_until_idle();
        let source = schedule_source();
        let compiled =
            self.nodes[0].notations.compile(SCHEDULE_NOTATION, &source, &self.setup.config.limits);
        let definitions = compiled.into_iter().flat_map(|it| it.definitions);
        let definitions = definitions.map(std::sync::Arc::new).collect();
        let notation = SCHEDULE_NOTATION.to_owned();
        // Every kernel deploys the schedule definition when it starts.
        let deploy = Command::Deploy(Deployment { notation, source, definitions });
        self.send_command("deploy the built-in definition", deploy);
        self.run_until_idle();
        for number in 0..self.workload.programs.texts.len() {
            self.deploy_program(number, "deploy");
            self.run_until_idle();
        }
    }

    fn boot_node(&mut self, node: usize) {
        let store = self.fixture.open();
        let is_shared = store.is_shared();
        let config = Config { shared_store: is_shared, ..self.setup.config.clone() };
        let real = self.nodes[node].clock.real;
        let membership = block_on(store.renew_lease(real)).expect("there is a lease");
        let recovered =
            block_on(store.recover(membership.partition())).expect("the store can be read");
        let definitions = block_on(store.definitions(DefinitionFilter::default()));
        self.trace(|| format!("n{node} begins: {membership:?}"));
        let node = &mut self.nodes[node];
        node.boot(store, &config);
        node.epoch = recovered.epoch;
        node.next_heartbeat = real.saturating_add_millis(5_000);
        let until = membership.lasts_ms.map(|ms| real.saturating_add_millis(ms));
        node.handle_input(Input::Membership(membership, until));
        node.handle_input(Input::Recovered(recovered, definitions.expect("the store can be read")));
    }

    /// Draws whether a process crashes here.
    pub(super) fn draw_crash(&mut self) -> bool {
        !self.faults_stopped && self.setup.has_fault(FaultFamily::Crash) && self.rng.permyriad(100)
    }

    /// Crashes a process. Commits that it had sent may still reach the store, in order.
    pub(super) fn crash_node(&mut self, node: usize) {
        if !self.nodes[node].is_up() {
            return;
        }
        self.trace(|| format!("n{node} dies"));
        self.counts.count(CountGroup::Fault, FaultFamily::Crash.name());
        self.deliver_last_commits(node);
        for ticket in std::mem::take(&mut self.nodes[node].waiting) {
            if let Some(call) = self.call_mut(ticket) {
                call.lost = true;
            }
        }
        self.nodes[node].clear_memory();
        self.nodes[node].restart_at = self.logical_time + self.rng.below(12) as u64;
    }

    /// Delivers some of the commits that a crashing process had sent, in order: at once, or, on a
    /// shared store, at any later time.
    fn deliver_last_commits(&mut self, node: usize) {
        let store = self.nodes[node].store.clone();
        let is_cut = self.is_store_full() || self.is_partitioned(node);
        let mut arrives = self.nodes[node].lost_commit.is_none() && !is_cut;
        for call in std::mem::take(&mut self.nodes[node].calls_in_flight) {
            let CallStage::Sent(Output::Commit(batch, fetched, plan)) = call.stage else {
                continue;
            };
            arrives = arrives && self.rng.percent(50);
            if !arrives {
                return;
            }
            let computed = self.nodes[node].turns_of_batch(batch);
            if store.is_shared() && self.rng.percent(60) {
                let at = self.logical_time + self.rng.below(150) as u64;
                self.late_commits.push(LateCommit {
                    at,
                    store: store.clone(),
                    fetched,
                    plan,
                    computed,
                });
            } else {
                // The process that sent it is gone: its answer has no receiver.
                let _ = self.write_plan(&store, fetched, plan, computed);
            }
        }
    }

    fn is_store_full(&self) -> bool {
        self.logical_time < self.store_full_until
    }

    /// Restarts processes whose downtime is over.
    pub(super) fn restart_nodes(&mut self) {
        for node in 0..self.nodes.len() {
            let is_due = self.nodes[node].restart_at <= self.logical_time || self.faults_stopped;
            if !self.nodes[node].is_up() && is_due {
                self.boot_node(node);
                self.poll_machine(node);
            }
        }
    }

    /// Restores the store from a backup: every process ends, and the restored store is paused.
    pub(super) fn restore_backup(&mut self) {
        for node in 0..self.nodes.len() {
            self.crash_node(node);
        }
        self.late_commits.clear();
        let audit = AuditInfo { actor: "ops".to_owned(), reason: "the disk broke".to_owned() };
        if block_on(self.store.mark_restored(self.now(), audit)).is_ok() {
            self.counts.count(CountGroup::Operation, "restore");
            self.trace(|| "the store is restored, paused".to_owned());
        }
    }

    /// Runs until no call is in flight; true if anything was done.
    pub(super) fn run_until_idle(&mut self) -> bool {
        const MAX_STEPS: u32 = 200_000;
        let mut has_worked = false;
        for _ in 0..MAX_STEPS {
            self.logical_time += 1;
            let mut is_idle = self.late_commits.is_empty();
            self.deliver_late_commit();
            for node in 0..self.nodes.len() {
                self.deliver_notices(node);
                if self.nodes[node].needs_poll {
                    self.poll_machine(node);
                }
                let waits = !self.nodes[node].calls_in_flight.is_empty();
                is_idle &= !waits && !self.nodes[node].needs_poll;
                if waits {
                    has_worked |= self.advance_one_call(node);
                }
                if self.nodes[node].has_failed {
                    self.crash_node(node);
                    self.restart_nodes();
                    is_idle = false;
                }
            }
            if is_idle {
                return has_worked;
            }
            if !self.violations.is_empty() {
                return false;
            }
        }
        self.report_violation(
            "eventually_everything_settles",
            "something goes on for ever".to_owned(),
        );
        false
    }
}
