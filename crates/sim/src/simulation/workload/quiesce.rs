//! The end of a run: faults stop, all actors finish their work, and time advances until nothing is
//! due.

use meantime_core::{Json, SCHEDULE_DEFINITION, TaskKind};
use meantime_kernel::command::{ClaimCommand, Command, Report};
use meantime_kernel::machine::Ticket;
use meantime_kernel::store::{
    DefinitionFilter, InstanceFilter, NodeIndex, Page, Phase, TaskFilter, TaskState,
};

use crate::harness::block_on;
use crate::simulation::programs::QUEUE_NAMES;
use crate::simulation::run::Simulation;

/// The largest number of time steps.
const MAX_SETTLE_ROUNDS: u32 = 3_000;

const DAY_MS: i64 = 86_400_000;

/// Timers further ahead than this are not awaited.
const MAX_WAIT_MS: i64 = 40 * 365 * DAY_MS;

impl Simulation {
    pub(in crate::simulation) fn run_to_quiescence(&mut self) {
        self.faults_stopped = true;
        self.trace(|| "faults stop".to_owned());
        self.resynchronize_clocks();
        self.restart_nodes();
        self.exchange_heartbeats();
        if self.nodes.iter().any(crate::simulation::node::Node::is_paused) {
            self.resume_restored();
            self.run_until_idle();
        }
        let mut patience_ms = 1_000;
        // Nodes that died keep their leases, and with them their work, until the leases expire.
        let mut leases_last_ms = (self.nodes.len() > 1).then_some(NodeIndex::LEASE_MS);
        for round in 0..MAX_SETTLE_ROUNDS {
            let commits = self.counts.commits;
            if round % 100 == 0 {
                self.cancel_schedules();
            }
            self.finish_all_work();
            if !self.violations.is_empty() {
                return;
            }
            let is_moving = self.counts.commits > commits;
            patience_ms = if is_moving { 1_000 } else { (2 * patience_ms).min(DAY_MS) };
            let next = self.ms_until_next_event(patience_ms).filter(|ms| *ms <= MAX_WAIT_MS);
            let Some(ms) = next.or_else(|| leases_last_ms.take()) else {
                // Another node may have made the last commit: all nodes must see it.
                self.exchange_heartbeats();
                self.abandon_waiting_calls();
                return;
            };
            self.advance_clocks(ms);
            self.exchange_heartbeats();
        }
        self.report_violation(
            "eventually_everything_settles",
            format!("more than {MAX_SETTLE_ROUNDS} rounds"),
        );
    }

    /// Lets every node renew its lease and see the others, and runs until idle.
    fn exchange_heartbeats(&mut self) {
        let rounds = if self.nodes.len() > 1 { 2 } else { 0 };
        for _ in 0..rounds {
            for node in 0..self.nodes.len() {
                self.renew_lease(node);
            }
            self.run_until_idle();
        }
        self.run_until_idle();
    }

    /// Workers, people and the engine finish all open work.
    fn finish_all_work(&mut self) {
        const MAX_STEPS: u32 = 20_000;
        for _ in 0..MAX_STEPS {
            let commits = self.counts.commits;
            let queues = QUEUE_NAMES.map(str::to_owned).to_vec();
            let (worker, max, lease_ms) = ("w1".to_owned(), 1_000, 60_000);
            let claim = ClaimCommand { worker, queues, max, lease_ms, ..ClaimCommand::default() };
            self.send_command("claim", Command::Claim(claim));
            self.run_until_idle();
            while self.finish_held_task() {}
            for node in 0..self.nodes.len() {
                while !self.nodes[node].dispatched.is_empty() {
                    let report = Report::Completed(Json::null());
                    self.report_engine_task(node, "complete by the engine", report);
                }
            }
            self.run_until_idle();
            self.complete_user_tasks();
            if self.counts.commits == commits || !self.violations.is_empty() {
                return;
            }
        }
        self.report_violation(
            "eventually_everything_settles",
            "there is always more work".to_owned(),
        );
    }

    fn complete_user_tasks(&mut self) {
        let filter = TaskFilter { kind: Some(TaskKind::User), ..TaskFilter::default() };
        let rows = block_on(self.store.tasks(filter, Page::first(1_000))).unwrap_or_default();
        let open = rows.into_iter().filter(|row| row.state != TaskState::Done);
        let open: Vec<_> = open.map(|row| row.id).collect();
        for task in open {
            let report = Report::Completed(Json::null());
            let command = Command::Report { task, token: None, report };
            self.send_command("complete by a person", command);
            // One at a time: all at once could exceed the limits.
            self.run_until_idle();
        }
    }

    /// Cancels schedules: one without an end would run for ever.
    fn cancel_schedules(&mut self) {
        let name = Some(SCHEDULE_DEFINITION.to_owned());
        let filter = DefinitionFilter { name, ..DefinitionFilter::default() };
        let definitions = block_on(self.store.definitions(filter)).unwrap_or_default();
        let filter = InstanceFilter {
            definitions: definitions.iter().map(|row| row.id).collect(),
            phases: vec![Phase::Starting, Phase::Running],
            ..InstanceFilter::default()
        };
        let rows = block_on(self.store.instances(filter, Page::first(10_000))).unwrap_or_default();
        for row in rows {
            let audit = self.workload.audit();
            self.send_command("cancel", Command::Cancel { instance: row.id, audit });
        }
        self.run_until_idle();
    }

    /// Abandons calls that still wait.
    fn abandon_waiting_calls(&mut self) {
        for node in 0..self.nodes.len() {
            let waiting: Vec<Ticket> = self.nodes[node].waiting.iter().copied().collect();
            for ticket in waiting {
                if let Some(call) = self.call_mut(ticket) {
                    call.is_overdue = true;
                }
                self.abandon_call(node, ticket);
            }
        }
        self.run_until_idle();
    }
}
