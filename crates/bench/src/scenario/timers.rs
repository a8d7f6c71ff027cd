//! Arms a million sleepers, then lets some of them fall due in different patterns.
//!
//! The due times are random, so the instances that a storm resumes are scattered over the whole
//! file. Before each storm the clock is set to just before it, and then runs at normal speed.

use std::time::Duration;

use anyhow::Result;
use meantime_core::Timestamp;
use meantime_kernel::clock::Stopwatch;
use meantime_kernel::random::SeededEntropy;

use super::super::child::shuffle;
use super::super::kernel_rig::KernelRig;
use super::super::notation::YEAR_MS;
use super::super::observed_store::Observations;
use super::super::report::{self, Figure, float};
use super::super::session::Session;
use super::super::starters::{Starters, arm, pause};

const NAME: &str = "timers";
const SLEEPING_INSTANCES: usize = 1_000_000;
const HOUR_MS: i64 = 3_600_000;
const MIB: f64 = 1_048_576.0;

/// How long before a storm the clock is set.
const STORM_LEAD_MS: i64 = 200;

/// The same number of callers as B has transitions in a batch.
const CALLERS: usize = 1_000;

/// Callers that start new instances during a storm.
const CONCURRENT_STARTERS: usize = 8;

/// The number of timers in each storm; the storms are an hour apart.
struct Storms {
    /// Due within one second.
    second: usize,
    /// Due at one instant.
    instant: usize,
    /// Due at 1,000 a second.
    steady: usize,
    /// Overdue for a long time when the clock reaches them.
    overdue: usize,
}

pub(crate) async fn timers(session: &mut Session) -> Result<()> {
    let random = session.random().await?;
    let rig = KernelRig::new(&session.common.db).await?;
    let storms = Storms {
        second: session.common.scaled(100_000),
        instant: session.common.scaled(10_000),
        steady: usize::try_from(session.common.seconds)? * 1_000,
        overdue: session.common.scaled(200_000),
    };
    let base = rig.clock.engine().saturating_add_millis(24 * HOUR_MS);
    let at = |hours: i64| base.saturating_add_millis(hours * HOUR_MS);
    let sleepers = session.common.scaled(SLEEPING_INSTANCES);
    armed(session, &rig, due_instants(&storms, sleepers, at), random).await?;
    storm_within_a_second(session, &rig, storms.second, at(0), random).await?;
    storm_at_one_instant(session, &rig, storms.instant, at(1), random).await?;
    steady(session, &rig, storms.steady, at(2)).await?;
    overdue(session, &rig, storms.overdue, at(4), random).await?;
    rig.end().await?;
    Ok(())
}

/// The due times of the sleepers, in random order.
fn due_instants(storms: &Storms, sleepers: usize, at: impl Fn(i64) -> Timestamp) -> Vec<Timestamp> {
    let spread = |from: Timestamp, count: usize, span_ms: i64| {
        let count = i64::try_from(count).unwrap_or(i64::MAX).max(1);
        (0..count).map(move |number| from.saturating_add_millis(number * span_ms / count))
    };
    let steady_ms = i64::try_from(storms.steady).unwrap_or_default();
    let mut due: Vec<_> = spread(at(0), storms.second, 1_000).collect();
    due.extend(spread(at(1), storms.instant, 1));
    due.extend(spread(at(2), storms.steady, steady_ms));
    due.extend(spread(at(3), storms.overdue, 1_000_000));
    let rest = sleepers.saturating_sub(due.len()).max(1);
    due.extend(spread(at(48), rest, YEAR_MS));
    shuffle(&mut due, &mut SeededEntropy::new(2));
    due
}

async fn armed(
    session: &mut Session,
    rig: &KernelRig,
    due: Vec<Timestamp>,
    random: f64,
) -> Result<()> {
    let count = due.len();
    session.progress.step(format!("arming {count} sleepers"), count);
    let load = arm(&rig.kernel, due.into(), CALLERS, &session.progress).await?;
    let name = format!("arming {count} sleepers, {CALLERS} callers");
    let figure = Figure::new(NAME, name, load.per_second(), "/s");
    let baseline = session.common.db.baselines().1;
    session.add_for_sqlite(figure.of(baseline, random).at_least(0.5));
    log_figure(session, "while arming", &rig.store.take_observations());
    Ok(())
}

async fn storm_within_a_second(
    session: &mut Session,
    rig: &KernelRig,
    count: usize,
    at: Timestamp,
    random: f64,
) -> Result<()> {
    session.progress.step(format!("{count} timers due in one second"), 0);
    let (before, beside) = (fired(rig), Starters::begin(&rig.kernel, "once", CONCURRENT_STARTERS));
    begin_storm(rig, at).await;
    let watch = Stopwatch::start();
    rig.wait_until_fired(before + u64::try_from(count)?).await?;
    let seconds = watch.elapsed().as_secs_f64();
    let starts = beside.end().await?;
    let name = format!("{count} due in one second, drained");
    // The ratio to the time that B takes for as many transitions: 2 means twice as long.
    let figure = Figure::new(NAME, name, seconds, "s");
    session.add_for_sqlite(figure.of("n/B", report::count(count) / random).at_most(2.0));
    let p99 = starts.latency.percentile(99.0);
    let figure = Figure::new(NAME, "new starts meanwhile, p99", p99, "ms");
    session.add_for_sqlite(figure.at_most(1_000.0));
    log_figure(session, "in the second", &rig.store.take_observations());
    Ok(())
}

async fn storm_at_one_instant(
    session: &mut Session,
    rig: &KernelRig,
    count: usize,
    at: Timestamp,
    random: f64,
) -> Result<()> {
    session.progress.step(format!("{count} timers due at one instant"), 0);
    let before = fired(rig);
    begin_storm(rig, at).await;
    rig.wait_until_fired(before + u64::try_from(count)?).await?;
    let observations = rig.store.take_observations();
    let limit = 2.0 * report::count(count) / random * 1_000.0;
    let name = |percent: f64| format!("{count} at one instant, lateness p{percent}");
    let at_percent =
        |percent| Figure::new(NAME, name(percent), observations.lateness.percentile(percent), "ms");
    session.add(at_percent(50.0));
    session.add_for_sqlite(at_percent(99.0).at_most(limit));
    log_figure(session, "at the instant", &observations);
    Ok(())
}

async fn steady(session: &mut Session, rig: &KernelRig, count: usize, at: Timestamp) -> Result<()> {
    session.progress.step("1,000 timers a second", 0);
    let before = fired(rig);
    begin_storm(rig, at).await;
    rig.wait_until_fired(before + u64::try_from(count)?).await?;
    let observations = rig.store.take_observations();
    for (percent, limit) in [(50.0, 2.0), (99.0, 20.0)] {
        let name = format!("steady 1,000/s, lateness p{percent}");
        let figure = Figure::new(NAME, name, observations.lateness.percentile(percent), "ms");
        session.add_for_sqlite(figure.at_most(limit));
    }
    log_figure(session, "while steady", &observations);
    Ok(())
}

async fn overdue(
    session: &mut Session,
    rig: &KernelRig,
    count: usize,
    at: Timestamp,
    random: f64,
) -> Result<()> {
    session.progress.step(format!("{count} overdue timers"), 0);
    let before = fired(rig);
    let watch = Stopwatch::start();
    rig.set_clock(at);
    rig.wait_until_fired(before + u64::try_from(count)?).await?;
    let rate = report::count(count) / watch.elapsed().as_secs_f64();
    let name = format!("{count} overdue timers fired");
    let baseline = session.common.db.baselines().1;
    let target = if session.common.db.is_sqlite() { 0.5 } else { 0.3 };
    let figure = Figure::new(NAME, name, rate, "/s").of(baseline, random);
    session.add(figure.at_least(target));
    log_figure(session, "while firing", &rig.store.take_observations());
    Ok(())
}

/// Sets the clock to just before an instant and waits until it is reached.
async fn begin_storm(rig: &KernelRig, at: Timestamp) {
    rig.store.take_observations();
    rig.set_clock(at.saturating_add_millis(-STORM_LEAD_MS));
    pause(Duration::from_millis(STORM_LEAD_MS.unsigned_abs())).await;
}

fn fired(rig: &KernelRig) -> u64 {
    *rig.store.fired().borrow()
}

fn log_figure(session: &mut Session, when: &str, observations: &Observations) {
    if !session.common.db.is_sqlite() {
        return;
    }
    let name = format!("longest log {when}");
    session.add(Figure::new(NAME, name, float(observations.log_bytes) / MIB, "MiB").at_most(256.0));
}
