//! `bench isolation`: whether one bad definition can slow, stop or outlive the others.
//!
//! ```text
//!   for each poison: calm: the good load at a quarter of the peak: starts, and one-second timers
//!                    ─► deploy ─► clients send it ─► the same good load beside it, probing /readyz
//!                    ─► kill -9 ─► restart on the same directory ─► cancel its instances
//! ```
//!
//! The speed of a disk varies, and one slow moment in a short measurement would decide a
//! percentile. So the good load is measured several times beside each poison, calm is measured
//! again after each, and the percentile that counts is the median over these measurements.
//!
//! The good load consists of flows that end at once, started with `wait`, and flows that sleep for
//! a second and end. The sleepers also offer a task that no worker claims: their callers are
//! answered when they end and not when they become idle. So lateness is measured from outside, to
//! the microsecond, and the timers of the poison do not count.

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum as _;

use super::super::process::ProcessorTime;
use super::super::report::{Figure, count};
use super::super::sample::Sample;
use super::super::session::Session;
use super::super::starters::pause;
use super::cleanup::{Cleanup, cancel_instances};
use super::connection::json_request;
use super::measure::{MANY_CONNECTIONS, starts};
use super::poison::{Kind, PoisonVariant, variants};
use super::pressure::{DeployOutcome, Pressure, deploy};
use super::readiness_prober::{Readiness, ReadinessProber};
use super::server::{ClockKind, Server};
use super::sources::GOOD_DEFINITIONS;
use super::steady_load::{Observations, SteadyLoad};

const NAME: &str = "isolation";

/// The share of the peak rate at which good flows are started.
const LOAD_SHARE: f64 = 0.25;

/// Timers of the good load per second.
const TIMERS_PER_SECOND: f64 = 100.0;

/// The good load has at least this rate, however small the scale is.
const MIN_REQUESTS_PER_SECOND: f64 = 10.0;

/// How often the good load is measured beside one poison, and at the beginning. A quick run
/// measures once.
fn measurements_per_variant(session: &Session) -> usize {
    if session.time() > Duration::from_secs(1) { 3 } else { 1 }
}

/// A measurement is repeated if the host of a virtual machine took more than this share of the
/// processors away meanwhile, so many times at most.
const STOLEN_SHARE: f64 = 0.02;
const REPEATED_MEASUREMENTS: usize = 4;

/// How long to wait before measuring: half of the variants sleep for a second before they work.
const SETTLE_TIME: Duration = Duration::from_millis(1_500);

/// The time limit for a restart, and for removing a definition.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// The variants to try.
pub(crate) struct IsolationPlan {
    pub(crate) seed: u64,
    pub(crate) variants: usize,
    /// So many variants of each kind are left out at the beginning.
    pub(crate) skip: usize,
    pub(crate) kinds: Vec<Kind>,
}

/// The load that must not be disturbed.
struct GoodLoad {
    starts_per_second: f64,
    timers_per_second: f64,
}

/// The results of each measurement.
#[derive(Default)]
struct MeasuredLoad {
    starts: MeasuredRuns,
    timers: MeasuredRuns,
    /// Measurements that were repeated, and those that count although the host took time away.
    repeated: usize,
    disturbed: usize,
}

#[derive(Default)]
struct MeasuredRuns(Vec<Observations>);

impl MeasuredRuns {
    fn per_second(&self) -> f64 {
        self.0.iter().map(Observations::per_second).sum::<f64>() / count(self.0.len().max(1))
    }

    /// The median of the measured percentiles.
    fn p99(&self) -> f64 {
        let mut each = Sample::default();
        self.0.iter().for_each(|observations| each.add(observations.late.percentile(99.0)));
        each.percentile(50.0)
    }

    fn refused(&self) -> usize {
        self.0.iter().map(|observations| observations.refused).sum()
    }

    fn lost(&self) -> usize {
        self.0.iter().map(|observations| observations.lost).sum()
    }
}

/// The result of one variant.
struct VariantOutcome {
    measured: MeasuredLoad,
    ready: Readiness,
    /// From exec to ready, in milliseconds; `None` if the server did not come back.
    again_ms: Option<f64>,
    clearance: Cleanup,
    /// What the clients of the variant observed, in words.
    words: String,
}

pub(crate) async fn run(session: &mut Session, plan: &IsolationPlan) -> Result<()> {
    let mut server = Server::start(&session.common.db, ClockKind::Real, GOOD_DEFINITIONS).await?;
    let others = peak(session, &server).await?;
    session.progress.step("others alone", 0);
    let mut calm = MeasuredLoad::default();
    others.measure(&server, session.warm_up(), &mut MeasuredLoad::default()).await;
    for _ in 0..measurements_per_variant(session) {
        others.measure(&server, session.time(), &mut calm).await;
    }
    let mut outcomes = Vec::new();
    let mut worst = WorstVariants::default();
    let kinds = if plan.kinds.is_empty() { Kind::value_variants() } else { &plan.kinds };
    let (skipped, all) = (plan.skip * kinds.len(), plan.skip * kinds.len() + plan.variants);
    for variant in variants(plan.seed, all, kinds).into_iter().skip(skipped) {
        let label = format!("{} ({})", variant.label, shortened(&variant.title));
        session.progress.step(label.clone(), 0);
        match deploy(server.address, &variant).await? {
            DeployOutcome::Yes => {}
            DeployOutcome::Silent => worst.silent_deploys += 1,
            DeployOutcome::Refused(code) => {
                worst.refused += 1;
                let name = format!("{label}: refused at deploy, {code}");
                session.add(Figure::new(NAME, name, 0.0, ""));
                continue;
            }
        }
        let outcome = measure_variant(session, &mut server, &variant, &others).await?;
        let is_clean = outcome.again_ms.is_some() && outcome.clearance.left == 0;
        worst.add(&outcome);
        outcomes.push((label, outcome));
        if !is_clean {
            // A fresh server, so that leftovers of this variant do not slow the next one.
            server.end()?;
            server = Server::start(&session.common.db, ClockKind::Real, GOOD_DEFINITIONS).await?;
        }
        if measurements_per_variant(session) > 1 {
            session.progress.step("others alone", 0);
            others.measure(&server, session.warm_up(), &mut MeasuredLoad::default()).await;
            others.measure(&server, session.time(), &mut calm).await;
        }
    }
    add_calm(session, &calm);
    for (label, outcome) in outcomes {
        session.add(outcome.figure(&label, &calm));
    }
    worst.figures(session, &calm);
    server.end()
}

/// The good load: a quarter of what the server can do.
async fn peak(session: &mut Session, server: &Server) -> Result<GoodLoad> {
    session.progress.step("flows that end at once, peak", 0);
    let calls = starts(server, ENDING_FLOW.0, ENDING_FLOW.1, MANY_CONNECTIONS);
    calls.run_for(session.warm_up()).await?;
    let load = calls.run_for(session.time()).await?;
    let name = format!("flows that end at once, {MANY_CONNECTIONS} connections");
    session.add(Figure::new("peak", name, load.per_second(), "/s"));
    let scale = session.common.scale.min(1.0);
    Ok(GoodLoad {
        starts_per_second: (load.per_second() * LOAD_SHARE * scale).max(MIN_REQUESTS_PER_SECOND),
        timers_per_second: (TIMERS_PER_SECOND * scale).max(MIN_REQUESTS_PER_SECOND),
    })
}

const ENDING_FLOW: (&str, &str) = ("/instances?wait=PT20S", r#"{"definition":"ends"}"#);
const NAPPING_FLOW: (&str, &str) = ("/instances?wait=PT20S", r#"{"definition":"naps"}"#);

impl GoodLoad {
    /// Measures once more, again if the host of the machine took time away.
    async fn measure(&self, server: &Server, time: Duration, measured: &mut MeasuredLoad) {
        for left in (0..=REPEATED_MEASUREMENTS).rev() {
            let before = ProcessorTime::now();
            let (starts, timers) = self.measure_once(server, time).await;
            let stolen = ProcessorTime::now().stolen_share_since(before);
            if stolen <= STOLEN_SHARE || left == 0 {
                measured.disturbed += usize::from(stolen > STOLEN_SHARE);
                measured.starts.0.push(starts);
                measured.timers.0.push(timers);
                return;
            }
            measured.repeated += 1;
        }
    }

    /// Measures once: starts and timers.
    async fn measure_once(&self, server: &Server, time: Duration) -> (Observations, Observations) {
        let steady = |(path, body): (&str, &str), per_second, connections, lasts| SteadyLoad {
            address: server.address,
            request: json_request(path, body).into(),
            connections,
            per_second,
            lasts,
            status: 201,
        };
        let starts = steady(ENDING_FLOW, self.starts_per_second, MANY_CONNECTIONS, Duration::ZERO);
        // Each sleeper occupies a connection for a second.
        let timers = steady(
            NAPPING_FLOW,
            self.timers_per_second,
            2 * MANY_CONNECTIONS,
            Duration::from_secs(1),
        );
        tokio::join!(starts.call_for(time), timers.call_for(time))
    }
}

async fn measure_variant(
    session: &Session,
    server: &mut Server,
    variant: &PoisonVariant,
    others: &GoodLoad,
) -> Result<VariantOutcome> {
    let prober = ReadinessProber::begin(server.address);
    let press = Pressure::begin(server.address, variant);
    pause(SETTLE_TIME).await;
    let mut measured = MeasuredLoad::default();
    for _ in 0..measurements_per_variant(session) {
        others.measure(server, session.time(), &mut measured).await;
    }
    let mut ready = prober.end().await;
    let words = press.words(variant);
    // Killing the server also disconnects the clients of the variant.
    let again_ms = server.restart(RECOVERY_TIMEOUT).await?;
    drop(press);
    let name = variant.definition.as_ref().map(|it| it.name.as_str());
    let clearance = match (again_ms, name) {
        (Some(_), Some(name)) => {
            let prober = ReadinessProber::begin(server.address);
            let clearance = cancel_instances(server.address, name, RECOVERY_TIMEOUT).await;
            ready = ready.and(prober.end().await);
            clearance
        }
        (Some(_), None) => Cleanup::default(),
        (None, _) => Cleanup { found: 0, left: 1 },
    };
    Ok(VariantOutcome { measured, ready, again_ms, clearance, words })
}

fn add_calm(session: &mut Session, calm: &MeasuredLoad) {
    let MeasuredLoad { starts, timers, .. } = calm;
    session.add(Figure::new("calm", "starts of others", starts.per_second(), "/s"));
    session.add(Figure::new("calm", "… p99", starts.p99(), "ms"));
    session.add(Figure::new("calm", "timers of others", timers.per_second(), "/s"));
    session.add(Figure::new("calm", "… lateness p99", timers.p99(), "ms"));
}

/// Long titles are cut; the label still identifies the variant.
fn shortened(title: &str) -> String {
    const MAX_TITLE_CHARS: usize = 100;
    let short: String = title.chars().take(MAX_TITLE_CHARS).collect();
    if short.len() < title.len() { short + "…" } else { short }
}

impl VariantOutcome {
    /// One line of the report: the starts as a figure, everything else in words.
    fn figure(&self, label: &str, calm: &MeasuredLoad) -> Figure {
        let Self { measured, ready, again_ms, clearance, words } = self;
        let MeasuredLoad { starts, timers, .. } = measured;
        let share = timers.per_second() / calm.timers.per_second();
        let again = again_ms.map_or_else(|| "never".to_owned(), |ms| format!("after {ms:.0} ms"));
        let name = format!(
            "{label}: {words}; starts p99 {:.1} ms, {} refused, {} lost; timers {share:.2} of \
             calm, p99 {:.1} ms late; {} of {} times not ready; ready again {again}; {} ran, {} left",
            starts.p99(),
            starts.refused(),
            starts.lost(),
            timers.p99(),
            ready.not_ready + ready.silent,
            ready.asked,
            clearance.found,
            clearance.left,
        );
        let calm = calm.starts.per_second();
        Figure::new(NAME, name, starts.per_second(), "/s").of("calm", calm)
    }
}

/// The worst values over all variants.
#[derive(Default)]
struct WorstVariants {
    tried: usize,
    refused: usize,
    silent_deploys: usize,
    starts: Option<f64>,
    starts_p99: Option<f64>,
    timers: Option<f64>,
    timers_p99: Option<f64>,
    ready: Readiness,
    opened: usize,
    again_ms: Option<f64>,
    found: usize,
    left: usize,
    repeated: usize,
    disturbed: usize,
}

impl WorstVariants {
    fn add(&mut self, outcome: &VariantOutcome) {
        let least = |known: Option<f64>, new: f64| Some(known.map_or(new, |known| known.min(new)));
        let most = |known: Option<f64>, new: f64| Some(known.map_or(new, |known| known.max(new)));
        let MeasuredLoad { starts, timers, repeated, disturbed } = &outcome.measured;
        self.repeated += repeated;
        self.disturbed += disturbed;
        self.tried += 1;
        self.starts = least(self.starts, starts.per_second());
        self.starts_p99 = most(self.starts_p99, starts.p99());
        self.timers = least(self.timers, timers.per_second());
        self.timers_p99 = most(self.timers_p99, timers.p99());
        self.ready = self.ready.and(outcome.ready);
        self.opened += usize::from(outcome.again_ms.is_some());
        let patience_ms = RECOVERY_TIMEOUT.as_secs_f64() * 1_000.0;
        self.again_ms = most(self.again_ms, outcome.again_ms.unwrap_or(patience_ms));
        self.found += outcome.clearance.found;
        self.left += outcome.clearance.left;
    }

    fn figures(self, session: &mut Session, calm: &MeasuredLoad) {
        const WORST: &str = "worst";
        let of = |name: &str, value: Option<f64>, unit, calm: f64| {
            // If every variant was refused, nothing was disturbed: the calm value stands.
            Figure::new(WORST, name, value.unwrap_or(calm), unit).of("calm", calm)
        };
        let (starts, timers) = (&calm.starts, &calm.timers);
        let rate = of("starts of others", self.starts, "/s", starts.per_second());
        session.add(rate.at_least(0.8));
        let p99 = of("… p99", self.starts_p99, "ms", starts.p99());
        session.add(p99.at_most(3.0));
        let rate = of("timers of others", self.timers, "/s", timers.per_second());
        session.add(rate.at_least(0.8));
        let p99 = of("… lateness p99", self.timers_p99, "ms", timers.p99());
        session.add(p99.at_most(3.0));
        let mut add = |name: &str, value: f64| session.add(Figure::new("all", name, value, ""));
        add("variants that ran", count(self.tried));
        add("variants refused at deploy", count(self.refused));
        add("times that /readyz was asked", count(self.ready.asked));
        add("instances that ran after the restart", count(self.found));
        let repeated = self.repeated + calm.repeated;
        add("measurements repeated: the host took processor time away", count(repeated));
        let disturbed = self.disturbed + calm.disturbed;
        add("… counted although it did", count(disturbed));
        let ms = self.again_ms.unwrap_or(0.0);
        let again = Figure::new(WORST, "ready again after kill -9", ms, "ms");
        session.add(again.at_most(1_000.0));
        let mut none = |name: &str, value: usize| {
            session.add(Figure::new("all", name, count(value), "").at_most(0.0));
        };
        none("times that /readyz did not say 200", self.ready.not_ready);
        none("times that /readyz did not answer", self.ready.silent);
        none("deploys without an answer", self.silent_deploys);
        none("stores that did not open again", self.tried - self.opened);
        none("instances left after the cancel", self.left);
    }
}
