//! The end of a run: faults stop, everybody does their work, and time is driven until nothing
//! more is due.

use meantime_core::{Json, SCHEDULE_DEFINITION, TaskKind};
use meantime_kernel::command::{ClaimCommand, Command, Report};
use meantime_kernel::machine::Ticket;
use meantime_kernel::store::{
    DefinitionFilter, InstanceFilter, NodeIndex, Page, Phase, TaskFilter, TaskState,
};

use crate::harness::block_on;
use crate::simulation::programs::QUEUES;
use crate::simulation::run::Run;

/// How often time is moved at most.
const ROUNDS: u32 = 3_000;

const DAY_MS: i64 = 86_400_000;

/// Further than this nobody looks.
const HORIZON_MS: i64 = 40 * 365 * DAY_MS;

impl Run {
    pub(in crate::simulation) fn settle(&mut self) {
        self.is_quiet = true;
        self.trace(|| "faults stop".to_owned());
        self.set_right();
        self.come_back();
        self.look_around();
        if self.nodes.iter().any(crate::simulation::node::Node::is_paused) {
            self.confirm();
            self.drain();
        }
        let mut patience_ms = 1_000;
        // Those who died keep their leases for a while, and with them what they had begun.
        let mut leases_last_ms = (self.nodes.len() > 1).then_some(NodeIndex::LEASE_MS);
        for round in 0..ROUNDS {
            let commits = self.tally.commits;
            if round % 100 == 0 {
                self.cancel_schedules();
            }
            self.work_off();
            if !self.found.is_empty() {
                return;
            }
            let is_moving = self.tally.commits > commits;
            patience_ms = if is_moving { 1_000 } else { (2 * patience_ms).min(DAY_MS) };
            let next = self.until_anything(patience_ms).filter(|ms| *ms <= HORIZON_MS);
            let Some(ms) = next.or_else(|| leases_last_ms.take()) else {
                // What happened last may have happened elsewhere.
                self.look_around();
                self.let_go();
                return;
            };
            self.advance(ms);
            self.look_around();
        }
        self.fail("eventually_everything_settles", format!("more than {ROUNDS} rounds"));
    }

    /// Everybody sees everybody, and all that follows from it happens.
    fn look_around(&mut self) {
        let rounds = if self.nodes.len() > 1 { 2 } else { 0 };
        for _ in 0..rounds {
            for node in 0..self.nodes.len() {
                self.renew_lease(node);
            }
            self.drain();
        }
        self.drain();
    }

    /// Workers, people and the engine do all there is to do.
    fn work_off(&mut self) {
        const MANY: u32 = 20_000;
        for _ in 0..MANY {
            let commits = self.tally.commits;
            let queues = QUEUES.map(str::to_owned).to_vec();
            let (worker, max, lease_ms) = ("w1".to_owned(), 1_000, 60_000);
            let claim = ClaimCommand { worker, queues, max, lease_ms, ..ClaimCommand::default() };
            self.ask("claim", Command::Claim(claim));
            self.drain();
            while self.handle_one() {}
            for node in 0..self.nodes.len() {
                while !self.nodes[node].dispatched.is_empty() {
                    let report = Report::Completed(Json::null());
                    self.engine_reports(node, "complete by the engine", report);
                }
            }
            self.drain();
            self.people_work();
            if self.tally.commits == commits || !self.found.is_empty() {
                return;
            }
        }
        self.fail("eventually_everything_settles", "there is always more work".to_owned());
    }

    fn people_work(&mut self) {
        let filter = TaskFilter { kind: Some(TaskKind::User), ..TaskFilter::default() };
        let rows = block_on(self.store.tasks(filter, Page::first(1_000))).unwrap_or_default();
        let open = rows.into_iter().filter(|row| row.state != TaskState::Done);
        let open: Vec<_> = open.map(|row| row.id).collect();
        for task in open {
            let report = Report::Completed(Json::null());
            let command = Command::Report { task, token: None, report };
            self.ask("complete by a person", command);
            // One after the other: together they may be too many.
            self.drain();
        }
    }

    /// A schedule without an end would go on for ever.
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
            let audit = self.load.audit();
            self.ask("cancel", Command::Cancel { instance: row.id, audit });
        }
        self.drain();
    }

    /// Callers who wait for what may never come are sent away.
    fn let_go(&mut self) {
        for node in 0..self.nodes.len() {
            let waiting: Vec<Ticket> = self.nodes[node].waiting.iter().copied().collect();
            for ticket in waiting {
                if let Some(call) = self.call_mut(ticket) {
                    call.is_overdue = true;
                }
                self.abandon(node, ticket);
            }
        }
        self.drain();
    }
}
