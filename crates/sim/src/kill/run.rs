//! Rounds of load, kill and audit.

use std::path::PathBuf;
use std::str::FromStr;

use meantime_core::{InstanceId, TaskId};
use meantime_kernel::random::{Entropy, SeededEntropy};

use super::client::Client;
use super::node_process::{NodeCommand, NodeProcess};
use super::protocol::{ClientAction, ClientRequest, ResponseBody};
use super::store_location::{StoreFactory, StoreKind, StoreLocation};
use crate::audit::{Audit, AuditPoint, audit};

/// Requests under way at a time.
const MAX_REQUESTS_IN_FLIGHT: usize = 64;

/// Instances that are added when the client runs out of work: a third of each kind.
const STARTS_PER_REFILL: usize = 90;

/// The most answers that a node gives before it is killed.
const MAX_ANSWERS_BEFORE_KILL: u64 = 400;

/// Rounds on one store, before it is drained and a new one is begun.
const ROUNDS_PER_STORE: usize = 20;

/// Empty claims in a row after which nothing will come any more: a minute of them.
const MAX_EMPTY_CLAIMS: usize = 300;

/// What was done and found.
#[derive(Debug, Clone, Default)]
pub struct KillReport {
    /// Nodes that were killed.
    pub kills: usize,
    /// Requests that were answered.
    pub answers: usize,
    /// Requests that a kill left without an answer.
    pub interrupted: usize,
    /// Of these, how many had taken effect.
    pub applied_unanswered: usize,
    /// Starts that were asked again and were known.
    pub repeated: usize,
    /// Second reports and those whose lease was lost: all refused.
    pub stale: usize,
    /// Instances that were started and have ended.
    pub instances: usize,
    /// Their turns.
    pub turns: usize,
    /// Timers that fired.
    pub fired: usize,
    /// Tasks with their one outcome.
    pub done: usize,
    /// Acknowledged and not there.
    pub lost: Vec<String>,
    /// Anything else that must not be.
    pub problems: Vec<String>,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct KillPlan {
    /// The program that runs nodes.
    pub binary: PathBuf,
    /// On which kind of store.
    pub kind: StoreKind,
    /// Where scratch files go.
    pub directory: PathBuf,
    /// Where chance begins.
    pub seed: u64,
    /// How many kills.
    pub rounds: usize,
    /// A mistake on purpose: nodes answer before they have committed.
    pub early_ack: bool,
}

/// Runs rounds.
///
/// # Panics
///
/// If there can be no stores or no nodes.
pub fn kill_rounds(plan: &KillPlan, mut progress: impl FnMut(&KillReport)) -> KillReport {
    let mut entropy = SeededEntropy::new(plan.seed);
    let mut report = KillReport::default();
    let factory = StoreFactory::new(plan.kind, &plan.directory).expect("there can be stores");
    while report.kills < plan.rounds {
        let scratch = factory.create().expect("a new store");
        let location = scratch.location();
        let mut arguments = location.arguments();
        arguments.extend(plan.early_ack.then(|| "--early-ack".into()));
        let program = NodeCommand { binary: plan.binary.clone(), arguments };
        let mut run =
            StoreRun { location, program, client: Client::default(), report: &mut report };
        for _ in 0..(plan.rounds - run.report.kills).min(ROUNDS_PER_STORE) {
            run.run_round(&mut entropy);
            progress(run.report);
            if plan.early_ack && !run.report.lost.is_empty() {
                // Found; what is lost will never come to its end.
                return report;
            }
        }
        run.run_to_end();
        progress(&report);
    }
    report
}

/// One store, from its beginning to its end.
struct StoreRun<'a> {
    location: StoreLocation,
    program: NodeCommand,
    client: Client,
    report: &'a mut KillReport,
}

impl StoreRun<'_> {
    /// Load, a kill after some answers, and an audit.
    fn run_round(&mut self, entropy: &mut SeededEntropy) {
        let mut node = NodeProcess::start(&self.program).expect("a node starts");
        let limit = entropy.next() % MAX_ANSWERS_BEFORE_KILL;
        for _ in 0..limit {
            self.refill_and_send(&mut node);
            let Some(response) = node.read_response() else {
                self.report.problems.push("a node died by itself".to_owned());
                break;
            };
            self.report.answers += 1;
            self.client.on_response(response);
        }
        self.refill_and_send(&mut node);
        for response in node.kill() {
            self.report.answers += 1;
            self.client.on_response(response);
        }
        self.report.kills += 1;
        let audit = self.audit_store(AuditPoint::Anytime);
        self.resolve_unanswered(&audit);
    }

    /// Lets everything come to its end, without kills.
    fn run_to_end(&mut self) {
        let mut node = NodeProcess::start(&self.program).expect("a node starts");
        let mut empty = 0;
        while !self.client.is_finished() && empty < MAX_EMPTY_CLAIMS {
            self.send_requests(&mut node);
            let Some(response) = node.read_response() else {
                self.report.problems.push("a node died by itself".to_owned());
                break;
            };
            self.report.answers += 1;
            match &response.body {
                ResponseBody::Tasks(tasks) if tasks.is_empty() => empty += 1,
                _ => empty = 0,
            }
            self.client.on_response(response);
        }
        drop(node);
        let audit = self.audit_store(AuditPoint::AtEnd);
        self.check_totals(&audit);
    }

    /// Asks, and never runs out of things to ask: a kill finds work under way.
    fn refill_and_send(&mut self, node: &mut NodeProcess) {
        if self.client.needs_refill() {
            self.client.queue_starts(STARTS_PER_REFILL);
        }
        self.send_requests(node);
    }

    fn send_requests(&mut self, node: &mut NodeProcess) {
        while let Some((number, action)) = self.client.next_request(MAX_REQUESTS_IN_FLIGHT) {
            node.send(&ClientRequest { number, action });
        }
    }

    fn audit_store(&mut self, when: AuditPoint) -> Audit {
        let store = self.location.open();
        let audit = store.and_then(|store| audit(&*store, &self.client.acknowledged, when));
        let audit = audit.unwrap_or_else(|error| Audit {
            problems: vec![format!("the store cannot be read: {error}")],
            ..Audit::default()
        });
        self.report.lost.extend(audit.lost.iter().cloned());
        self.report.problems.extend(audit.problems.iter().cloned());
        self.report.problems.append(&mut self.client.problems);
        audit
    }

    /// What became of requests that nobody answered.
    fn resolve_unanswered(&mut self, audit: &Audit) {
        let (mut interrupted, mut applied, mut doubled) = (0, 0, Vec::new());
        let acknowledged: Vec<_> =
            self.client.acknowledged.signalled.iter().map(|(id, _)| *id).collect();
        self.client.on_node_death(|action| {
            let took_effect = match action {
                ClientAction::Claim { .. } => return None,
                // Asked again with its key: it must find what it started.
                ClientAction::Start { .. } => false,
                ClientAction::Signal { instance } => {
                    let id = InstanceId::from_str(instance).ok()?;
                    let response = acknowledged.iter().filter(|to| **to == id).count();
                    let taken = audit.signals.get(&id).copied().unwrap_or_default();
                    (taken > response + 1).then(|| doubled.push(id));
                    taken > response
                }
                ClientAction::Complete { task, .. } => {
                    TaskId::from_str(task).is_ok_and(|id| audit.outcomes.contains(&id))
                }
            };
            interrupted += 1;
            applied += usize::from(took_effect);
            took_effect.then_some(ResponseBody::Done)
        });
        self.report.interrupted += interrupted;
        self.report.applied_unanswered += applied;
        for id in doubled {
            self.report.problems.push(format!("{id} has taken a signal twice"));
        }
    }

    /// Every start is one instance, every instance has ended with its one task, every nap has
    /// fired its one timer (K14).
    fn check_totals(&mut self, audit: &Audit) {
        let (started, nap_count) = (self.client.started(), self.client.nap_count);
        let mut expect = |plan: &str, is: usize, should: usize| {
            if is != should {
                self.report.problems.push(format!("{is} {plan}, there should be {should}"));
            }
        };
        expect("instances", audit.instances, started);
        expect("instances that are over", audit.ended, started);
        expect("tasks with an outcome", audit.done, started);
        expect("timers that fired", audit.fired, nap_count);
        self.report.instances += audit.ended;
        self.report.turns += audit.turns;
        self.report.fired += audit.fired;
        self.report.done += audit.done;
        self.report.repeated += self.client.repeated;
        self.report.stale += self.client.stale;
    }
}
