//! Processes begin, die and come back.

use meantime_kernel::command::{Command, Deployment};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::{Config, Input, Output};
use meantime_kernel::schedule::{SCHEDULE_NOTATION, schedule_source};
use meantime_kernel::store::DefinitionFilter;

use super::membership::Late;
use super::node::What;
use super::run::Run;
use super::setup::Fault;
use super::tally::Group;
use crate::harness::block_on;

impl Run {
    /// Every process starts, and the first programs are deployed.
    pub(super) fn begin(&mut self) {
        for node in 0..self.nodes.len() {
            self.boot(node);
        }
        self.drain();
        let source = schedule_source();
        let compiled =
            self.nodes[0].notations.compile(SCHEDULE_NOTATION, &source, &self.setup.config.limits);
        let definitions = compiled.into_iter().flat_map(|it| it.definitions);
        let definitions = definitions.map(std::sync::Arc::new).collect();
        let notation = SCHEDULE_NOTATION.to_owned();
        // What every kernel does when it starts.
        let deploy = Command::Deploy(Deployment { notation, source, definitions });
        self.ask("deploy the built-in definition", deploy);
        self.drain();
        for number in 0..self.load.programs.texts.len() {
            self.deploy(number, "deploy");
            self.drain();
        }
    }

    fn boot(&mut self, node: usize) {
        let store = self.bed.open();
        let is_shared = store.is_shared();
        let config = Config { shared_store: is_shared, ..self.setup.config.clone() };
        let real = self.nodes[node].clock.real;
        let membership = block_on(store.renew_lease(real)).expect("there is a node_index");
        let recovered =
            block_on(store.recover(membership.partition())).expect("the store can be read");
        let definitions = block_on(store.definitions(DefinitionFilter::default()));
        self.trace(|| format!("n{node} begins: {membership:?}"));
        let node = &mut self.nodes[node];
        node.boot(store, &config);
        node.epoch = recovered.epoch;
        node.next_heartbeat = real.saturating_add_millis(5_000);
        let until = membership.lasts_ms.map(|ms| real.saturating_add_millis(ms));
        node.tell(Input::Membership(membership, until));
        node.tell(Input::Recovered(recovered, definitions.expect("the store can be read")));
    }

    /// Whether a process dies here.
    pub(super) fn may_crash(&mut self) -> bool {
        !self.is_quiet && self.setup.has(Fault::Crash) && self.chance.permyriad(100)
    }

    /// The process dies. What it had sent to the store may still arrive, in order.
    pub(super) fn crash(&mut self, node: usize) {
        if !self.nodes[node].is_up() {
            return;
        }
        self.trace(|| format!("n{node} dies"));
        self.tally.count(Group::Fault, Fault::Crash.name());
        self.send_off(node);
        for ticket in std::mem::take(&mut self.nodes[node].waiting) {
            if let Some(call) = self.call_mut(ticket) {
                call.lost = true;
            }
        }
        self.nodes[node].die();
        self.nodes[node].back_at = self.moment + self.chance.below(12) as u64;
    }

    /// What a dying process had sent to the store may still arrive, in order: at once, or, if
    /// others go on with the same store, at any later time.
    fn send_off(&mut self, node: usize) {
        let store = self.nodes[node].store.clone();
        let is_cut = self.is_full() || self.is_cut_off(node);
        let mut arrives = self.nodes[node].lost_commit.is_none() && !is_cut;
        for errand in std::mem::take(&mut self.nodes[node].errands) {
            let What::Ask(Output::Commit(batch, taken, plan)) = errand.what else { continue };
            arrives = arrives && self.chance.percent(50);
            if !arrives {
                return;
            }
            let computed = self.nodes[node].computed_by(batch);
            if store.is_shared() && self.chance.percent(60) {
                let at = self.moment + self.chance.below(150) as u64;
                self.late.push(Late { at, store: store.clone(), taken, plan, computed });
            } else {
                // Nobody is left to hear whether it worked.
                let _ = self.write(&store, taken, plan, computed);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.moment < self.full_until
    }

    /// Processes that were down long enough come back.
    pub(super) fn come_back(&mut self) {
        for node in 0..self.nodes.len() {
            let is_due = self.nodes[node].back_at <= self.moment || self.is_quiet;
            if !self.nodes[node].is_up() && is_due {
                self.boot(node);
                self.poll(node);
            }
        }
    }

    /// The store is lost and restored from a copy: every process ends, and the copy is paused.
    pub(super) fn restore(&mut self) {
        for node in 0..self.nodes.len() {
            self.crash(node);
        }
        self.late.clear();
        let audit = AuditInfo { actor: "ops".to_owned(), reason: "the disk broke".to_owned() };
        if block_on(self.store.mark_restored(self.now(), audit)).is_ok() {
            self.tally.count(Group::Operation, "restore");
            self.trace(|| "the store is restored, paused".to_owned());
        }
    }

    /// Everything under way is finished, and nothing goes wrong meanwhile.
    pub(super) fn drain(&mut self) -> bool {
        const MANY: u32 = 200_000;
        let mut has_worked = false;
        for _ in 0..MANY {
            self.moment += 1;
            let mut is_idle = self.late.is_empty();
            self.arrive_late();
            for node in 0..self.nodes.len() {
                self.hear(node);
                if self.nodes[node].is_restless {
                    self.poll(node);
                }
                let waits = !self.nodes[node].errands.is_empty();
                is_idle &= !waits && !self.nodes[node].is_restless;
                if waits {
                    has_worked |= self.go_on(node);
                }
                if self.nodes[node].gave_up {
                    self.crash(node);
                    self.come_back();
                    is_idle = false;
                }
            }
            if is_idle {
                return has_worked;
            }
            if !self.found.is_empty() {
                return false;
            }
        }
        self.fail("eventually_everything_settles", "something goes on for ever".to_owned());
        false
    }
}
