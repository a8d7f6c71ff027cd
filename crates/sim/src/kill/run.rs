//! Rounds of load, kill and audit.

use std::path::PathBuf;
use std::str::FromStr;

use meantime_core::{InstanceId, TaskId};
use meantime_kernel::random::{Entropy, SeededEntropy};

use super::client::Client;
use super::partner::{Partner, Program};
use super::place::{Kind, Maker, Place};
use super::protocol::{Ask, Said, Want};
use crate::audit::{Audit, When, audit};

/// Requests under way at a time.
const WINDOW: usize = 64;

/// Instances that are added when the client runs out of work: a third of each kind.
const STARTS: usize = 90;

/// The most answers that a node gives before it is killed.
const ANSWERS: u64 = 400;

/// Rounds on one store, before it is drained and a new one is begun.
const ROUNDS_PER_STORE: usize = 20;

/// Empty claims in a row after which nothing will come any more: a minute of them.
const EMPTY_CLAIMS: usize = 300;

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
    pub taken_unheard: usize,
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
    pub wrong: Vec<String>,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// The program that runs nodes.
    pub binary: PathBuf,
    /// On which kind of store.
    pub kind: Kind,
    /// Where scratch files go.
    pub directory: PathBuf,
    /// Where chance begins.
    pub seed: u64,
    /// How many kills.
    pub rounds: usize,
    /// A mistake on purpose: nodes answer before they have committed.
    pub is_hasty: bool,
}

/// Runs rounds.
///
/// # Panics
///
/// If there can be no stores or no nodes.
pub fn kill_rounds(what: &Rounds, mut progress: impl FnMut(&KillReport)) -> KillReport {
    let mut entropy = SeededEntropy::new(what.seed);
    let mut report = KillReport::default();
    let maker = Maker::new(what.kind, &what.directory).expect("there can be stores");
    while report.kills < what.rounds {
        let made = maker.make().expect("a new store");
        let place = made.place();
        let mut arguments = place.arguments();
        arguments.extend(what.is_hasty.then(|| "--hasty".into()));
        let program = Program { binary: what.binary.clone(), arguments };
        let mut life = Life { place, program, client: Client::default(), report: &mut report };
        for _ in 0..(what.rounds - life.report.kills).min(ROUNDS_PER_STORE) {
            life.round(&mut entropy);
            progress(life.report);
            if what.is_hasty && !life.report.lost.is_empty() {
                // Found; what is lost will never come to its end.
                return report;
            }
        }
        life.drain();
        progress(&report);
    }
    report
}

/// One store, from its beginning to its end.
struct Life<'a> {
    place: Place,
    program: Program,
    client: Client,
    report: &'a mut KillReport,
}

impl Life<'_> {
    /// Load, a kill after some answers, and an audit.
    fn round(&mut self, entropy: &mut SeededEntropy) {
        let mut node = Partner::start(&self.program).expect("a node starts");
        let limit = entropy.next() % ANSWERS;
        for _ in 0..limit {
            self.load(&mut node);
            let Some(told) = node.hear() else {
                self.report.wrong.push("a node died by itself".to_owned());
                break;
            };
            self.report.answers += 1;
            self.client.told(told);
        }
        self.load(&mut node);
        for told in node.kill() {
            self.report.answers += 1;
            self.client.told(told);
        }
        self.report.kills += 1;
        let audit = self.audit(When::Anytime);
        self.resolve(&audit);
    }

    /// Lets everything come to its end, without kills.
    fn drain(&mut self) {
        let mut node = Partner::start(&self.program).expect("a node starts");
        let mut empty = 0;
        while !self.client.is_finished() && empty < EMPTY_CLAIMS {
            self.ask(&mut node);
            let Some(told) = node.hear() else {
                self.report.wrong.push("a node died by itself".to_owned());
                break;
            };
            self.report.answers += 1;
            match &told.said {
                Said::Tasks(tasks) if tasks.is_empty() => empty += 1,
                _ => empty = 0,
            }
            self.client.told(told);
        }
        drop(node);
        let audit = self.audit(When::Settled);
        self.add_up(&audit);
    }

    /// Asks, and never runs out of things to ask: a kill finds work under way.
    fn load(&mut self, node: &mut Partner) {
        if self.client.has_little_to_do() {
            self.client.plan(STARTS);
        }
        self.ask(node);
    }

    fn ask(&mut self, node: &mut Partner) {
        while let Some((number, want)) = self.client.next(WINDOW) {
            node.ask(&Ask { number, want });
        }
    }

    fn audit(&mut self, when: When) -> Audit {
        let store = self.place.open();
        let audit = store.and_then(|store| audit(&*store, &self.client.facts, when));
        let audit = audit.unwrap_or_else(|error| Audit {
            wrong: vec![format!("the store cannot be read: {error}")],
            ..Audit::default()
        });
        self.report.lost.extend(audit.lost.iter().cloned());
        self.report.wrong.extend(audit.wrong.iter().cloned());
        self.report.wrong.append(&mut self.client.wrong);
        audit
    }

    /// What became of requests that nobody answered.
    fn resolve(&mut self, audit: &Audit) {
        let (mut interrupted, mut unheard, mut doubled) = (0, 0, Vec::new());
        let acknowledged: Vec<_> = self.client.facts.signalled.iter().map(|(id, _)| *id).collect();
        self.client.node_died(|want| {
            let took_effect = match want {
                Want::Claim { .. } => return None,
                // Asked again with its key: it must find what it started.
                Want::Start { .. } => false,
                Want::Signal { instance } => {
                    let id = InstanceId::from_str(instance).ok()?;
                    let told = acknowledged.iter().filter(|to| **to == id).count();
                    let taken = audit.signals.get(&id).copied().unwrap_or_default();
                    (taken > told + 1).then(|| doubled.push(id));
                    taken > told
                }
                Want::Complete { task, .. } => {
                    TaskId::from_str(task).is_ok_and(|id| audit.outcomes.contains(&id))
                }
            };
            interrupted += 1;
            unheard += usize::from(took_effect);
            took_effect.then_some(Said::Done)
        });
        self.report.interrupted += interrupted;
        self.report.taken_unheard += unheard;
        for id in doubled {
            self.report.wrong.push(format!("{id} has taken a signal twice"));
        }
    }

    /// Every start is one instance, every instance has ended with its one task, every nap has
    /// fired its one timer (K14).
    fn add_up(&mut self, audit: &Audit) {
        let (started, naps) = (self.client.started(), self.client.naps);
        let mut expect = |what: &str, is: usize, should: usize| {
            if is != should {
                self.report.wrong.push(format!("{is} {what}, there should be {should}"));
            }
        };
        expect("instances", audit.instances, started);
        expect("instances that are over", audit.ended, started);
        expect("tasks with an outcome", audit.done, started);
        expect("timers that fired", audit.fired, naps);
        self.report.instances += audit.ended;
        self.report.turns += audit.turns;
        self.report.fired += audit.fired;
        self.report.done += audit.done;
        self.report.repeated += self.client.repeated;
        self.report.stale += self.client.stale;
    }
}
