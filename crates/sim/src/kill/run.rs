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

/// Requests in flight.
const MAX_REQUESTS_IN_FLIGHT: usize = 64;

/// Instances that are added when the client runs out of work: a third of each kind.
const STARTS_PER_REFILL: usize = 90;

/// The largest number of answers that a node gives before it is killed.
const MAX_ANSWERS_BEFORE_KILL: u64 = 400;

/// Rounds on one store, before its work is finished and a new store is created.
const ROUNDS_PER_STORE: usize = 20;

/// After this many empty claims in a row, about a minute, no task will come any more.
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
    /// How many of them had taken effect.
    pub applied_unanswered: usize,
    /// Starts that were repeated and already existed.
    pub repeated: usize,
    /// Reports that were refused: second reports, and reports whose lease had expired.
    pub stale: usize,
    /// Instances that were started and have ended.
    pub instances: usize,
    /// Their turns.
    pub turns: usize,
    /// Timers that fired.
    pub fired: usize,
    /// Tasks with their one outcome.
    pub done: usize,
    /// Acknowledged, but missing from the store.
    pub lost: Vec<String>,
    /// All other violations.
    pub problems: Vec<String>,
}

/// The parameters of a run.
#[derive(Debug, Clone)]
pub struct KillPlan {
    /// The program that runs nodes.
    pub binary: PathBuf,
    /// The kind of store.
    pub kind: StoreKind,
    /// The directory for scratch files.
    pub directory: PathBuf,
    /// The seed of random choices.
    pub seed: u64,
    /// The number of kills.
    pub rounds: usize,
    /// Injects a fault: nodes answer before they have committed.
    pub early_ack: bool,
}

/// Runs the rounds.
///
/// # Panics
///
/// If stores or nodes cannot be created.
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
                // The injected fault was detected. Lost instances never end, so the run stops here.
                return report;
            }
        }
        run.run_to_end();
        progress(&report);
    }
    report
}

/// One store, from its creation until all work on it is finished.
struct StoreRun<'a> {
    location: StoreLocation,
    program: NodeCommand,
    client: Client,
    report: &'a mut KillReport,
}

impl StoreRun<'_> {
    /// One round: load, a kill after some answers, and an audit.
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

    /// Finishes all work without kills.
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

    /// Sends requests and adds new ones when few are left, so that a kill always interrupts work.
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

    /// Finds out which unanswered requests have taken effect.
    fn resolve_unanswered(&mut self, audit: &Audit) {
        let (mut interrupted, mut applied, mut doubled) = (0, 0, Vec::new());
        let acknowledged: Vec<_> =
            self.client.acknowledged.signalled.iter().map(|(id, _)| *id).collect();
        self.client.on_node_death(|action| {
            let took_effect = match action {
                ClientAction::Claim { .. } => return None,
                // A start is sent again with its key; the answer then shows whether it had taken
                // effect.
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

    /// Every start is one instance, every instance has ended with exactly one task, and every `nap`
    /// has fired exactly one timer (K14).
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
