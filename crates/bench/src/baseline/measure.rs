//! Runs a baseline for a given time.

use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;

use super::super::bench_store::BenchStore;
use super::super::kernel_rig::new_bench_directory;
use super::super::notation::CONTEXT_BYTES;
use super::super::report::{count, float};
use super::sqlite::GROUP_SIZE;
use super::{postgres, sqlite};

/// A frame of the log: a page and its header.
const WAL_FRAME_BYTES: u64 = 4_096 + 24;

/// Runs J; returns instances per second.
pub(crate) async fn appended(
    bench_store: &BenchStore,
    warm_up: Duration,
    time: Duration,
) -> Result<f64> {
    match bench_store {
        BenchStore::Sqlite(_) => {
            let directory = new_bench_directory(bench_store)?;
            let path = directory.path().join("appended.db");
            let mut baseline = sqlite::AppendBaseline::new(&path, CONTEXT_BYTES)?;
            rate(warm_up, time, async || baseline.group()).await
        }
        BenchStore::Postgres(database) => {
            let mut baseline = postgres::AppendBaseline::new(database).await?;
            rate(warm_up, time, async || baseline.group().await).await
        }
    }
}

/// The bytes that J writes to its log per instance, for a state of the given size.
pub(crate) fn appended_log_bytes(
    bench_store: &BenchStore,
    state: usize,
    groups: usize,
) -> Result<f64> {
    let directory = new_bench_directory(bench_store)?;
    let mut baseline = sqlite::AppendBaseline::new(&directory.path().join("appended.db"), state)?;
    baseline.group()?;
    let before = baseline.pages();
    for _ in 0..groups {
        baseline.group()?;
    }
    Ok(float((baseline.pages() - before) * WAL_FRAME_BYTES) / count(groups * GROUP_SIZE))
}

/// Runs B; returns transitions per second.
pub(crate) async fn random(
    bench_store: &BenchStore,
    instances: usize,
    warm_up: Duration,
    time: Duration,
) -> Result<f64> {
    match bench_store {
        BenchStore::Sqlite(_) => {
            let directory = new_bench_directory(bench_store)?;
            let path = directory.path().join("random.db");
            let mut baseline = sqlite::RandomUpdateBaseline::new(&path, instances)?;
            rate(warm_up, time, async || baseline.batch()).await
        }
        BenchStore::Postgres(database) => {
            let mut baseline = postgres::RandomUpdateBaseline::new(database, instances).await?;
            rate(warm_up, time, async || baseline.batch().await).await
        }
    }
}

/// How much is done per second; each call returns how much it did.
async fn rate(
    warm_up: Duration,
    time: Duration,
    mut run: impl AsyncFnMut() -> Result<usize>,
) -> Result<f64> {
    let watch = Stopwatch::start();
    while watch.elapsed() < warm_up {
        run().await?;
    }
    let (watch, mut done) = (Stopwatch::start(), 0);
    while watch.elapsed() < time {
        done += run().await?;
    }
    Ok(count(done) / watch.elapsed().as_secs_f64())
}
