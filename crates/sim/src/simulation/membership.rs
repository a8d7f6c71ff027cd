//! Several processes on one store: heartbeats, notifications, and processes that are partitioned
//! from the store, frozen, or dead while one of their commits is still in flight.

use std::sync::{Arc, PoisonError};

use meantime_core::Timestamp;
use meantime_kernel::machine::Input;
use meantime_kernel::store::{Fetched, Plan, Store};

use super::coverage_counts::CountGroup;
use super::run::Simulation;
use super::setup::FaultFamily;
use crate::checker::ObservedTurn;
use crate::harness::block_on;

/// The interval of heartbeats, in milliseconds of real time.
const HEARTBEAT_INTERVAL_MS: i64 = 5_000;

/// A commit that arrives after its process has died.
pub(super) struct LateCommit {
    pub(super) at: u64,
    pub(super) store: Arc<dyn Store>,
    pub(super) fetched: Fetched,
    pub(super) plan: Plan,
    pub(super) computed: Vec<ObservedTurn>,
}

impl Simulation {
    /// Renews the leases of processes whose heartbeat is due.
    pub(super) fn renew_due_leases(&mut self) {
        for node in 0..self.nodes.len() {
            let is_due = self.nodes[node].next_heartbeat <= self.nodes[node].clock.real;
            let is_late = !self.faults_stopped && self.rng.percent(5);
            if is_due && !is_late {
                self.renew_lease(node);
            }
        }
    }

    /// Renews the lease of one process, unless it is dead, frozen or partitioned.
    pub(super) fn renew_lease(&mut self, node: usize) {
        let it = &self.nodes[node];
        if !it.is_up() || !it.store.is_shared() || self.is_frozen(node) {
            return;
        }
        let real = self.nodes[node].clock.real;
        self.nodes[node].next_heartbeat = real.saturating_add_millis(HEARTBEAT_INTERVAL_MS);
        if self.call_fails(node, "renew_lease") {
            return;
        }
        if let Ok(membership) = block_on(self.nodes[node].store.renew_lease(real)) {
            self.trace(|| format!("n{node} gives a sign of life: {membership:?}"));
            let until = membership.lasts_ms.map(|ms| real.saturating_add_millis(ms));
            self.nodes[node].handle_input(Input::Membership(membership, until));
        }
    }

    /// Delivers notifications of other nodes, unless they are lost.
    pub(super) fn deliver_notices(&mut self, node: usize) {
        if self.is_frozen(node) {
            return;
        }
        let received_notices = self.nodes[node].received_notices.clone();
        let notices =
            std::mem::take(&mut *received_notices.lock().unwrap_or_else(PoisonError::into_inner));
        if notices.is_empty() || !self.nodes[node].is_up() {
            return;
        }
        let can_lose = !self.faults_stopped && self.setup.has_fault(FaultFamily::LostNotice);
        if can_lose && self.rng.percent(20) {
            self.counts.count(CountGroup::Fault, FaultFamily::LostNotice.name());
            self.trace(|| format!("  fault: n{node} does not hear {notices:?}"));
            return;
        }
        self.trace(|| format!("n{node} hears {notices:?}"));
        self.nodes[node].handle_input(Input::Notices(notices));
    }

    /// Whether a process is frozen now.
    pub(super) fn is_frozen(&self, node: usize) -> bool {
        !self.faults_stopped && self.logical_time < self.nodes[node].frozen_until
    }

    /// Whether a process cannot reach the store now.
    pub(super) fn is_partitioned(&self, node: usize) -> bool {
        !self.faults_stopped && self.logical_time < self.nodes[node].partitioned_until
    }

    /// Executes a commit that a dead process had sent. Its fence may have become stale.
    pub(super) fn deliver_late_commit(&mut self) {
        let due =
            |late_commits: &LateCommit| late_commits.at <= self.logical_time || self.faults_stopped;
        let Some(place) = self.late_commits.iter().position(due) else { return };
        let LateCommit { store, fetched, plan, computed, .. } = self.late_commits.remove(place);
        self.trace(|| format!("a commit of a dead process arrives: {}", plan.batch));
        self.counts.count(CountGroup::Observation, "late commit of a dead process");
        // The process that sent it is gone: its answer has no receiver.
        let _ = self.write_plan(&store, fetched, plan, computed);
    }

    /// Freezes a process or partitions it from the store for a while (P7).
    pub(super) fn freeze_or_partition(&mut self, node: usize, fault: FaultFamily) {
        let until = self.logical_time + 10 + self.rng.below(200) as u64;
        self.counts.count(CountGroup::Fault, fault.name());
        self.trace(|| format!("  fault: {} of n{node} until {until}", fault.name()));
        match fault {
            FaultFamily::Frozen => self.nodes[node].frozen_until = until,
            _ => self.nodes[node].partitioned_until = until,
        }
    }

    /// The earliest timer in the store that can fire: a process that shares the store loads timers
    /// only a little ahead.
    pub(super) fn earliest_stored_timer(&self) -> Option<Timestamp> {
        let query = meantime_kernel::store::DueQuery::first(1);
        let rows = block_on(self.store.due_timers(query)).unwrap_or_default();
        rows.first().map(|row| row.due_at)
    }
}
