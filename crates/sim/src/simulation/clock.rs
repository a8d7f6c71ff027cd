//! The clocks of a simulation: they advance, jump, and in the end run until nothing is due.

use meantime_core::Timestamp;
use meantime_kernel::clock::Now;
use meantime_kernel::machine::Input;
use meantime_kernel::store::Partition;

use super::coverage_counts::CountGroup;
use super::run::Simulation;
use super::setup::{FaultFamily, OperationFamily};

const SECOND_MS: i64 = 1_000;
const HOUR_MS: i64 = 3_600 * SECOND_MS;
const YEAR_MS: i64 = 365 * 24 * HOUR_MS;

impl Simulation {
    /// Advances time: a little, or to the next due instant.
    pub(super) fn advance_randomly(&mut self) {
        let step = match self.rng.below(4) {
            0 | 1 => self.rng.between(1, 5),
            2 => self.rng.between(1, self.setup.max_time_step_ms),
            _ => self.ms_until_wakeup().unwrap_or(1).clamp(0, 4 * self.setup.max_time_step_ms),
        };
        self.advance_clocks(step);
    }

    /// Moves every clock and wakes processes that have due work.
    pub(super) fn advance_clocks(&mut self, ms: i64) {
        self.trace(|| format!("{ms} ms pass"));
        // A virtual engine clock moves only on request; leases use the real clock.
        let engine_ms = if self.setup.separate_clocks && !self.faults_stopped {
            ms.saturating_mul(self.rng.between(0, 3))
        } else {
            ms
        };
        for node in &mut self.nodes {
            node.clock.engine = node.clock.engine.saturating_add_millis(engine_ms);
            node.clock.real = node.clock.real.saturating_add_millis(ms);
        }
        self.renew_due_leases();
        for node in 0..self.nodes.len() {
            // A process may miss its wake-up.
            if self.has_due_wakeup(node)
                && !self.is_frozen(node)
                && (self.faults_stopped || self.rng.percent(90))
            {
                self.nodes[node].handle_input(Input::Tick);
            }
        }
    }

    /// Sets the clock, forwards or back (P6). Processes that share a store use the clock of the
    /// store.
    pub(super) fn jump_clock(&mut self, fault: FaultFamily) {
        if !self.rng.percent(25) {
            return;
        }
        // With schedules, the jump is limited: a year of occurrences every second would take all
        // steps of this seed.
        let furthest = if self.setup.families.contains(&OperationFamily::Schedules) {
            26 * HOUR_MS
        } else {
            10 * YEAR_MS
        };
        let far = self.rng.pick(&[SECOND_MS, 60 * SECOND_MS, HOUR_MS, furthest]);
        let ms = self.rng.between(1, far);
        let ms = if fault == FaultFamily::ClockBack { -ms } else { ms };
        self.trace(|| format!("the clock jumps by {ms} ms"));
        self.counts.count(CountGroup::Fault, fault.name());
        for node in &mut self.nodes {
            node.clock.engine = node.clock.engine.saturating_add_millis(ms);
            node.clock.real = node.clock.real.saturating_add_millis(ms);
            node.next_heartbeat =
                node.next_heartbeat.min(node.clock.real.saturating_add_millis(5 * SECOND_MS));
        }
        self.renew_due_leases();
        for node in 0..self.nodes.len() {
            if !self.is_frozen(node) {
                self.nodes[node].handle_input(Input::Tick);
            }
        }
    }

    fn has_due_wakeup(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        let Some(machine) = &node.machine else { return false };
        let (engine, real) = machine.next_wakeup();
        engine.is_some_and(|at| at <= node.clock.engine)
            || real.is_some_and(|at| at <= node.clock.real)
    }

    /// Milliseconds until the next wake-up of any process.
    pub(super) fn ms_until_wakeup(&self) -> Option<i64> {
        let waits = self.nodes.iter().filter_map(|node| {
            let (engine, real) = node.machine.as_ref()?.next_wakeup();
            let engine = engine.map(|at| at.saturating_since(node.clock.engine));
            let real = real.map(|at| at.saturating_since(node.clock.real));
            [engine, real].into_iter().flatten().min()
        });
        waits.min().map(|ms| ms.max(0))
    }

    /// Like [`Self::ms_until_wakeup`], after faults have stopped. Processes that share a store load
    /// timers only a little ahead, and the timers of a dead node are adopted after its lease
    /// expires.
    pub(super) fn ms_until_next_event(&self, patience_ms: i64) -> Option<i64> {
        let timer = self.earliest_stored_timer().filter(|_| self.nodes.len() > 1);
        let timer = timer.map(|at| at.saturating_since(self.now()).max(patience_ms));
        [timer, self.ms_until_wakeup()].into_iter().flatten().min()
    }

    /// The time of the checks: the latest time that the store has seen, or later.
    pub(super) fn engine_time(&self) -> Timestamp {
        self.stored_time().max(self.now())
    }

    /// The latest time that any commit has seen.
    pub(super) fn stored_time(&self) -> Timestamp {
        let recovered = crate::harness::block_on(self.store.recover(Partition::ALL));
        recovered.map(|recovered| recovered.clock).unwrap_or_default()
    }

    /// Sets every clock to the latest time that any of them has shown.
    pub(super) fn resynchronize_clocks(&mut self) {
        let latest_engine_time =
            self.nodes.iter().map(|node| node.latest_engine_time).max().unwrap_or_default();
        for node in &mut self.nodes {
            node.clock = node.clock.max(Now::at(latest_engine_time));
        }
    }
}
