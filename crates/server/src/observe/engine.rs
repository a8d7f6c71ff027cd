//! The metrics of the engine for Prometheus.

use std::fmt::Error;

use meantime_kernel::machine::{Counters, Distribution, Levels};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// A registry with the current metrics of the engine.
pub(super) fn registry(counters: &Counters, levels: &Levels) -> Registry {
    let mut registry = Registry::default();
    for (name, help, value) in counters_of(counters) {
        registry.register(name, help, ConstCounter::new(value));
    }
    for (name, help, value) in gauges(levels) {
        registry.register(name, help, ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)));
    }
    for (name, help, distribution, unit) in distributions(counters) {
        registry.register(name, help, HistogramMetric { distribution, unit });
    }
    registry
}

fn counters_of(counters: &Counters) -> [(&'static str, &'static str, u64); 22] {
    [
        ("meantime_turns", "Turns committed", counters.turns),
        ("meantime_batches", "Batches committed", counters.batches),
        ("meantime_timers_fired", "Timers fired", counters.fired),
        ("meantime_timers_stale", "Timer firings without effect", counters.stale_fires),
        ("meantime_stale_changes", "Changes without effect, too late", counters.stale_changes),
        ("meantime_tasks_claimed", "Tasks handed out to workers", counters.claimed),
        (
            "meantime_tasks_handed_off",
            "Tasks leased in the commit that created them",
            counters.handed_off,
        ),
        ("meantime_tasks_retried", "Failed attempts that are retried", counters.retried),
        ("meantime_turn_conflicts", "Turns rejected by a fence", counters.conflicts),
        ("meantime_turns_postponed", "Turns postponed by another node", counters.locked),
        ("meantime_turn_faults", "Turns that could not be computed", counters.faults),
        ("meantime_instances_damaged", "Damaged instances set aside", counters.damaged),
        ("meantime_slow_turns", "Slow turns that left their batch", counters.slow_turns),
        (
            "meantime_slow_turns_dropped",
            "Slow turns dropped by a cancel",
            counters.slow_turns_dropped,
        ),
        ("meantime_deliveries_returned", "Signals and messages rebuffered", counters.returned),
        ("meantime_leases_lost", "Reports with a stale lease token", counters.leases_lost),
        ("meantime_leases_expired", "Leases expired", counters.leases_expired),
        ("meantime_commands_rejected", "Commands rejected by overload", counters.overloaded),
        ("meantime_commits_ambiguous", "Commits with an unknown result", counters.ambiguous),
        ("meantime_store_outages", "Times the store became unreachable", counters.store_outages),
        (
            "meantime_store_recoveries",
            "Times the store became reachable again",
            counters.store_recoveries,
        ),
        ("meantime_clock_steps", "Jumps of the wall clock", counters.clock_steps),
    ]
}

fn gauges(levels: &Levels) -> [(&'static str, &'static str, usize); 8] {
    [
        ("meantime_queued_turns", "Turns waiting for a commit", levels.queued_turns),
        ("meantime_queued_bytes", "Payload bytes of waiting turns", levels.queued_bytes),
        ("meantime_waiting_starts", "Starts waiting for their first turn", levels.waiting_starts),
        ("meantime_slow_turns_in_progress", "Slow turns being computed", levels.slow_turns),
        ("meantime_waiting_claims", "Long polls waiting for tasks", levels.waiting_claims),
        ("meantime_tasks_leased", "Tasks leased to workers", levels.leases),
        ("meantime_waiters", "Callers waiting for a result", levels.callers),
        ("meantime_engine_tasks_in_flight", "Outbound calls in flight", levels.engine_tasks),
    ]
}

fn distributions(counters: &Counters) -> [(&'static str, &'static str, Distribution, f64); 3] {
    [
        ("meantime_timer_lateness_seconds", "Delay of timer firings", counters.lateness_ms, 1e-3),
        ("meantime_commit_duration_seconds", "Duration of commits", counters.commit_us, 1e-6),
        ("meantime_commit_units", "Units in one commit", counters.commit_units, 1.0),
    ]
}

/// Encodes a distribution as a histogram, scaled to base units.
#[derive(Debug)]
struct HistogramMetric {
    distribution: Distribution,
    unit: f64,
}

impl EncodeMetric for HistogramMetric {
    #[expect(clippy::cast_precision_loss, reason = "figures for people have a few digits")]
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), Error> {
        let bound = |bound: Option<u64>| bound.map_or(f64::MAX, |it| it as f64 * self.unit);
        let buckets = self.distribution.buckets();
        let buckets: Vec<(f64, u64)> = buckets.map(|(it, count)| (bound(it), count)).collect();
        let sum = self.distribution.sum() as f64 * self.unit;
        encoder.encode_histogram::<NoLabelSet>(sum, self.distribution.count(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}
