//! Time: it passes, it jumps, and in the end it is driven until nothing more is due.

use meantime_core::Timestamp;
use meantime_kernel::clock::Now;
use meantime_kernel::machine::Input;
use meantime_kernel::store::Partition;

use super::run::Run;
use super::setup::{Family, Fault};
use super::tally::Group;

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
const YEAR: i64 = 365 * 24 * HOUR;

impl Run {
    /// Time passes: a little, or up to the next thing that is due.
    pub(super) fn pass_time(&mut self) {
        let step = match self.chance.below(4) {
            0 | 1 => self.chance.between(1, 5),
            2 => self.chance.between(1, self.setup.pace_ms),
            _ => self.until_next().unwrap_or(1).clamp(0, 4 * self.setup.pace_ms),
        };
        self.advance(step);
    }

    /// Moves every clock and wakes processes for which something is due.
    pub(super) fn advance(&mut self, ms: i64) {
        self.trace(|| format!("{ms} ms pass"));
        // A virtual engine clock is moved by hand; leases go by the real one.
        let engine_ms = if self.setup.two_times && !self.is_quiet {
            ms.saturating_mul(self.chance.between(0, 3))
        } else {
            ms
        };
        for node in &mut self.nodes {
            node.clock.engine = node.clock.engine.saturating_add_millis(engine_ms);
            node.clock.real = node.clock.real.saturating_add_millis(ms);
        }
        self.renew_when_due();
        for node in 0..self.nodes.len() {
            // A process may oversleep.
            if self.is_due(node)
                && !self.stands_still(node)
                && (self.is_quiet || self.chance.percent(90))
            {
                self.nodes[node].tell(Input::Tick);
            }
        }
    }

    /// The clock is set, forwards or back (P6). Processes that share a store go by its clock.
    pub(super) fn jump(&mut self, fault: Fault) {
        if !self.chance.percent(25) {
            return;
        }
        // A year of occurrences every second would be all that this seed does.
        let furthest =
            if self.setup.families.contains(&Family::Schedules) { 26 * HOUR } else { 10 * YEAR };
        let far = self.chance.pick(&[SECOND, 60 * SECOND, HOUR, furthest]);
        let ms = self.chance.between(1, far);
        let ms = if fault == Fault::ClockBack { -ms } else { ms };
        self.trace(|| format!("the clock jumps by {ms} ms"));
        self.tally.count(Group::Fault, fault.name());
        for node in &mut self.nodes {
            node.clock.engine = node.clock.engine.saturating_add_millis(ms);
            node.clock.real = node.clock.real.saturating_add_millis(ms);
            node.next_heartbeat =
                node.next_heartbeat.min(node.clock.real.saturating_add_millis(5 * SECOND));
        }
        self.renew_when_due();
        for node in 0..self.nodes.len() {
            if !self.stands_still(node) {
                self.nodes[node].tell(Input::Tick);
            }
        }
    }

    fn is_due(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        let Some(machine) = &node.machine else { return false };
        let (engine, real) = machine.next_wakeup();
        engine.is_some_and(|at| at <= node.clock.engine)
            || real.is_some_and(|at| at <= node.clock.real)
    }

    /// How long until something is due somewhere.
    pub(super) fn until_next(&self) -> Option<i64> {
        let waits = self.nodes.iter().filter_map(|node| {
            let (engine, real) = node.machine.as_ref()?.next_wakeup();
            let engine = engine.map(|at| at.saturating_since(node.clock.engine));
            let real = real.map(|at| at.saturating_since(node.clock.real));
            [engine, real].into_iter().flatten().min()
        });
        waits.min().map(|ms| ms.max(0))
    }

    /// The same, when faults have stopped: processes that share a store look only a little ahead.
    /// What is due belongs to somebody who is gone, and the others notice after a while.
    pub(super) fn until_anything(&self, patience_ms: i64) -> Option<i64> {
        let timer = self.next_timer().filter(|_| self.nodes.len() > 1);
        let timer = timer.map(|at| at.saturating_since(self.now()).max(patience_ms));
        [timer, self.until_next()].into_iter().flatten().min()
    }

    /// The time by which rows are judged: what the store has seen, or later.
    pub(super) fn engine_time(&self) -> Timestamp {
        self.stored_time().max(self.now())
    }

    /// The latest time that any commit has seen.
    pub(super) fn stored_time(&self) -> Timestamp {
        let recovered = crate::harness::block_on(self.store.recover(Partition::ALL));
        recovered.map(|recovered| recovered.clock).unwrap_or_default()
    }

    /// The clock is put right: it shows the latest time that it ever has.
    pub(super) fn set_right(&mut self) {
        let latest = self.nodes.iter().map(|node| node.latest).max().unwrap_or_default();
        for node in &mut self.nodes {
            node.clock = node.clock.max(Now::at(latest));
        }
    }
}
