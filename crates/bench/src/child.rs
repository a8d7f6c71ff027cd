//! Child processes of the bench, for measurements that kill a process.
//!
//! ```text
//!   bench ── starts ──► sleep: arms sleepers, rests, then goes on arming ──► kill -9
//!         ── starts ──► wake:  opens the same file, reports when it is ready and when it fires
//!         ◄── lines of JSON on standard output ──
//! ```

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use meantime_core::Timestamp;
use meantime_kernel::clock::{Clock, Stopwatch, SystemClock};
use meantime_kernel::random::{Entropy, SeededEntropy};
use meantime_kernel::store::{DueQuery, Store};
use serde::{Deserialize, Serialize};

use super::bench_store::BenchStore;
use super::kernel_rig::KernelRig;
use super::notation::YEAR_MS;
use super::process::{processor_ms, resident_bytes};
use super::progress::ProgressDisplay;
use super::report::float;
use super::sample::Sample;
use super::starters::{arm, pause, start_for_duration};

const DAY_MS: i64 = 86_400_000;
const CALLERS: usize = 1_000;
const STARTERS: usize = 64;

/// Sleepers that are due first, all at one instant.
pub(super) const FIRST_DUE_TIMERS: usize = 1_000;

/// A message of a child process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ChildMessage {
    /// The number of sleepers that are armed in total.
    Armed { count: usize, per_second: f64, resident_bytes: u64, file_bytes: u64 },
    /// After a pause: the share of one core that was used in it, and the number of statements.
    Rested { core_percent: f64, statements: u64 },
    /// Instances started per second.
    Loaded { per_second: f64 },
    /// The kernel answers calls.
    Ready,
    /// The first timer has fired.
    Fired,
    /// The number of overdue timers that have fired.
    Drained {
        per_second: f64,
        resident_bytes: u64,
        /// The time to find the next timer, and to read one of many, in microseconds.
        peek_us: f64,
        claim_us: f64,
    },
}

/// The command line of a process that `bench` starts and kills.
#[derive(Debug, clap::Args)]
pub struct BenchChild {
    #[command(subcommand)]
    part: ChildCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ChildCommand {
    Sleep {
        #[arg(long)]
        file: PathBuf,
        /// Numbers of sleepers in total, one per step.
        #[arg(long, value_delimiter = ',')]
        counts: Vec<usize>,
        /// How many of them fall due together.
        #[arg(long)]
        storm: usize,
        #[arg(long)]
        rest_seconds: u64,
    },
    Wake {
        #[arg(long)]
        file: PathBuf,
        #[arg(long)]
        storm: usize,
    },
    LoadResult {
        #[arg(long)]
        db: BenchStore,
        #[arg(long)]
        seconds: u64,
    },
}

impl BenchChild {
    /// Runs the command to its end, or until it is killed.
    pub fn run(self) -> Result<ExitCode> {
        let runtime = tokio::runtime::Runtime::new()?;
        match self.part {
            ChildCommand::Sleep { file, counts, storm, rest_seconds } => {
                runtime.block_on(sleep(file, counts, storm, rest_seconds))?;
            }
            ChildCommand::Wake { file, storm } => runtime.block_on(wake(file, storm))?,
            ChildCommand::LoadResult { db, seconds } => runtime.block_on(load(db, seconds))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn sleep(file: PathBuf, counts: Vec<usize>, storm: usize, rest_seconds: u64) -> Result<()> {
    let rig = KernelRig::open(&file, 0).await?;
    let total = counts.last().copied().unwrap_or_default();
    let due = due_instants(total, storm);
    let progress = ProgressDisplay::silent();
    let mut armed = 0;
    for count in counts {
        let next: Arc<[Timestamp]> = due.get(armed..count).unwrap_or_default().into();
        let load = arm(&rig.kernel, next, CALLERS, &progress).await?;
        armed = count;
        // The engine frees the memory of the last commits within a second.
        pause(Duration::from_secs(1)).await;
        let (resident_bytes, file_bytes) = (resident_bytes(), rig.bytes());
        let per_second = load.per_second();
        print_message(&ChildMessage::Armed { count, per_second, resident_bytes, file_bytes })?;
    }
    let (before, used) = (rig.counts(), processor_ms());
    pause(Duration::from_secs(rest_seconds)).await;
    let statements = rig.counts().statements - before.statements;
    let core_percent = float(processor_ms() - used) / float(rest_seconds.max(1)) / 10.0;
    print_message(&ChildMessage::Rested { core_percent, statements })?;
    loop {
        // Keeps arming timers until the process is killed in the middle of it.
        arm(&rig.kernel, vec![two_years_from_now(); CALLERS].into(), CALLERS, &progress).await?;
    }
}

async fn wake(file: PathBuf, storm: usize) -> Result<()> {
    let rig = KernelRig::open(&file, 2 * DAY_MS + DAY_MS / 2).await?;
    print_message(&ChildMessage::Ready)?;
    rig.wait_until_fired(1).await?;
    print_message(&ChildMessage::Fired)?;
    let first = u64::try_from(FIRST_DUE_TIMERS)?;
    rig.wait_until_fired(first).await?;
    let peek_us = due_query_us(&rig, 1).await?;
    let claim_us = due_query_us(&rig, 1_000).await? / 1_000.0;
    let watch = Stopwatch::start();
    let at = SystemClock.now().engine.saturating_add_millis(3 * DAY_MS + DAY_MS / 2);
    rig.set_clock(at);
    let storm = u64::try_from(storm)?;
    rig.wait_until_fired(first + storm).await?;
    let per_second = float(storm) / watch.elapsed().as_secs_f64();
    print_message(&ChildMessage::Drained {
        per_second,
        resident_bytes: resident_bytes(),
        peek_us,
        claim_us,
    })?;
    rig.end().await?;
    Ok(())
}

async fn load(db: BenchStore, seconds: u64) -> Result<()> {
    let BenchStore::Postgres(database) = db else { bail!("a file has one node") };
    let rig = KernelRig::join(&database).await?;
    let time = Duration::from_secs(seconds);
    start_for_duration(&rig.kernel, "once", STARTERS, time / 5).await?;
    let per_second = start_for_duration(&rig.kernel, "once", STARTERS, time).await?.per_second();
    print_message(&ChildMessage::Loaded { per_second })?;
    rig.end().await
}

/// The time to find the next timers, in microseconds.
async fn due_query_us(rig: &KernelRig, limit: usize) -> Result<f64> {
    let mut sample = Sample::default();
    for _ in 0..500 {
        let watch = Stopwatch::start();
        rig.store.due_timers(DueQuery::first(limit)).await?;
        sample.add(watch.elapsed().as_secs_f64() * 1e6);
    }
    Ok(sample.percentile(50.0))
}

/// The due times of the sleepers: the first ones in two days, the storm in three, all others later.
fn due_instants(count: usize, storm: usize) -> Vec<Timestamp> {
    let now = SystemClock.now().engine;
    let after = |ms: i64| now.saturating_add_millis(ms);
    let mut entropy = SeededEntropy::new(3);
    let mut due = vec![after(2 * DAY_MS); FIRST_DUE_TIMERS];
    due.extend(std::iter::repeat_n(after(3 * DAY_MS), storm));
    due.resize_with(count.max(due.len()), || {
        let within = i64::try_from(entropy.next() >> 1).unwrap_or_default();
        after(10 * DAY_MS + within.rem_euclid(YEAR_MS))
    });
    shuffle(&mut due, &mut entropy);
    due
}

/// Puts values into a random order.
pub(super) fn shuffle<T>(values: &mut [T], entropy: &mut dyn Entropy) {
    for index in (1..values.len()).rev() {
        let other = usize::try_from(entropy.next() >> 1).unwrap_or_default() % (index + 1);
        values.swap(index, other);
    }
}

fn two_years_from_now() -> Timestamp {
    SystemClock.now().engine.saturating_add_millis(2 * YEAR_MS)
}

fn print_message(message: &ChildMessage) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(message)?)?;
    out.flush()?;
    Ok(())
}
