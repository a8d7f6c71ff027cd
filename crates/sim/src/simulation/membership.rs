//! Several processes on one store: heartbeat, notices, and processes that are cut off, stand
//! still, or are dead while something they sent is still on its way.

use std::sync::{Arc, PoisonError};

use meantime_core::Timestamp;
use meantime_kernel::machine::Input;
use meantime_kernel::store::{Fetched, Plan, Store};

use super::run::Run;
use super::setup::Fault;
use super::tally::Group;
use crate::checker::TurnSeen;
use crate::harness::block_on;

/// How often a process gives a heartbeat, in milliseconds of real time.
const HEARTBEAT_MS: i64 = 5_000;

/// A commit that arrives after its process is gone.
pub(super) struct Late {
    pub(super) at: u64,
    pub(super) store: Arc<dyn Store>,
    pub(super) taken: Fetched,
    pub(super) plan: Plan,
    pub(super) computed: Vec<TurnSeen>,
}

impl Run {
    /// Processes whose time it is give a heartbeat.
    pub(super) fn renew_when_due(&mut self) {
        for node in 0..self.nodes.len() {
            let is_due = self.nodes[node].next_heartbeat <= self.nodes[node].clock.real;
            let is_late = !self.is_quiet && self.chance.percent(5);
            if is_due && !is_late {
                self.renew_lease(node);
            }
        }
    }

    /// One process gives a heartbeat, unless it is gone, stands still, or is cut off.
    pub(super) fn renew_lease(&mut self, node: usize) {
        let it = &self.nodes[node];
        if !it.is_up() || !it.store.is_shared() || self.stands_still(node) {
            return;
        }
        let real = self.nodes[node].clock.real;
        self.nodes[node].next_heartbeat = real.saturating_add_millis(HEARTBEAT_MS);
        if self.fails(node, "renew_lease") {
            return;
        }
        if let Ok(membership) = block_on(self.nodes[node].store.renew_lease(real)) {
            self.trace(|| format!("n{node} gives a sign of life: {membership:?}"));
            let until = membership.lasts_ms.map(|ms| real.saturating_add_millis(ms));
            self.nodes[node].tell(Input::Membership(membership, until));
        }
    }

    /// A process hears what others told, unless it gets lost.
    pub(super) fn hear(&mut self, node: usize) {
        if self.stands_still(node) {
            return;
        }
        let heard = self.nodes[node].heard.clone();
        let notices = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
        if notices.is_empty() || !self.nodes[node].is_up() {
            return;
        }
        let can_lose = !self.is_quiet && self.setup.has(Fault::LostNotice);
        if can_lose && self.chance.percent(20) {
            self.tally.count(Group::Fault, Fault::LostNotice.name());
            self.trace(|| format!("  fault: n{node} does not hear {notices:?}"));
            return;
        }
        self.trace(|| format!("n{node} hears {notices:?}"));
        self.nodes[node].tell(Input::Notices(notices));
    }

    /// Whether a process does nothing at all at the moment.
    pub(super) fn stands_still(&self, node: usize) -> bool {
        !self.is_quiet && self.moment < self.nodes[node].still_until
    }

    /// Whether the calls of a process do not reach the store at the moment.
    pub(super) fn is_cut_off(&self, node: usize) -> bool {
        !self.is_quiet && self.moment < self.nodes[node].cut_until
    }

    /// What a dead process had sent arrives. The store may know better by then.
    pub(super) fn arrive_late(&mut self) {
        let due = |late: &Late| late.at <= self.moment || self.is_quiet;
        let Some(place) = self.late.iter().position(due) else { return };
        let Late { store, taken, plan, computed, .. } = self.late.remove(place);
        self.trace(|| format!("a commit of a dead process arrives: {}", plan.batch));
        self.tally.count(Group::Sight, "late commit of a dead process");
        // Nobody is left to hear whether it worked.
        let _ = self.write(&store, taken, plan, computed);
    }

    /// A process stands still or is cut off for a while (P7).
    pub(super) fn take_out(&mut self, node: usize, fault: Fault) {
        let until = self.moment + 10 + self.chance.below(200) as u64;
        self.tally.count(Group::Fault, fault.name());
        self.trace(|| format!("  fault: {} of n{node} until {until}", fault.name()));
        match fault {
            Fault::Frozen => self.nodes[node].still_until = until,
            _ => self.nodes[node].cut_until = until,
        }
    }

    /// The earliest timer that can fire, as the store knows it: a process that shares the store
    /// looks only a little ahead.
    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        let query = meantime_kernel::store::DueQuery::first(1);
        let rows = block_on(self.store.due_timers(query)).unwrap_or_default();
        rows.first().map(|row| row.due_at)
    }
}
