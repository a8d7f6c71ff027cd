//! Callers: a fixed number, each waiting for its answer before it calls again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use meantime_core::Timestamp;
use meantime_kernel::clock::Stopwatch;
use meantime_kernel::command::{Command, StartCommand};
use meantime_kernel::driver::Kernel;
use tokio::task::JoinSet;

use super::kernel_rig::{start, start_sleeper};
use super::progress::ProgressDisplay;
use super::report::count;
use super::sample::Sample;

/// The results of the callers.
#[derive(Debug, Default)]
pub(super) struct LoadResult {
    pub(super) seconds: f64,
    /// From call to answer, in milliseconds.
    pub(super) latency: Sample,
}

impl LoadResult {
    pub(super) fn per_second(&self) -> f64 {
        count(self.latency.len()) / self.seconds
    }
}

/// Starts instances of a definition for a given time with `callers` callers.
pub(super) async fn start_for_duration(
    kernel: &Kernel,
    definition: &'static str,
    callers: usize,
    time: Duration,
) -> Result<LoadResult> {
    let starting = Starters::begin(kernel, definition, callers);
    pause(time).await;
    starting.end().await
}

/// Callers that run until they are stopped.
pub(super) struct Starters {
    stop: Arc<AtomicBool>,
    callers: JoinSet<Result<Sample>>,
    watch: Stopwatch,
}

impl Starters {
    pub(super) fn begin(kernel: &Kernel, definition: &'static str, callers: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut set = JoinSet::new();
        for _ in 0..callers {
            let (kernel, stop) = (kernel.clone(), stop.clone());
            set.spawn(async move {
                let mut latency = Sample::default();
                while !stop.load(Ordering::Relaxed) {
                    latency.add(call(&kernel, start(definition)).await?);
                }
                Ok(latency)
            });
        }
        Self { stop, callers: set, watch: Stopwatch::start() }
    }

    pub(super) async fn end(self) -> Result<LoadResult> {
        self.stop.store(true, Ordering::Relaxed);
        let mut load = LoadResult::default();
        for latency in self.callers.join_all().await {
            load.latency.extend(&latency?);
        }
        load.seconds = self.watch.elapsed().as_secs_f64();
        Ok(load)
    }
}

/// Starts a sleeper for each due time with `callers` callers.
pub(super) async fn arm(
    kernel: &Kernel,
    due: Arc<[Timestamp]>,
    callers: usize,
    progress: &ProgressDisplay,
) -> Result<LoadResult> {
    let next = Arc::new(AtomicUsize::new(0));
    let watch = Stopwatch::start();
    let mut set = JoinSet::new();
    for _ in 0..callers {
        let (kernel, due, next) = (kernel.clone(), due.clone(), next.clone());
        let progress = progress.clone();
        set.spawn(async move {
            let mut latency = Sample::default();
            while let Some(due_at) = due.get(next.fetch_add(1, Ordering::Relaxed)) {
                latency.add(call(&kernel, start_sleeper(*due_at)).await?);
                progress.tick();
            }
            anyhow::Ok(latency)
        });
    }
    let mut load = LoadResult::default();
    for latency in set.join_all().await {
        load.latency.extend(&latency?);
    }
    load.seconds = watch.elapsed().as_secs_f64();
    Ok(load)
}

/// Starts one instance; returns the latency in milliseconds.
async fn call(kernel: &Kernel, start: StartCommand) -> Result<f64> {
    let watch = Stopwatch::start();
    kernel.call(Command::Start(start)).await.context("a start was refused")?;
    Ok(watch.elapsed().as_secs_f64() * 1_000.0)
}

/// Lets real time pass: a bench measures real time, so it may sleep.
#[expect(clippy::disallowed_methods, reason = "a bench that runs for some time has to wait")]
pub(super) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
