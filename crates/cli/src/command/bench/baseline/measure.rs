//! Runs a baseline for some time.

use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;

use super::super::notation::CONTEXT;
use super::super::place::Place;
use super::super::report::{count, float};
use super::super::rig::new_directory;
use super::sqlite::GROUP;
use super::{postgres, sqlite};

/// A frame of the log: a page and its header.
const FRAME: u64 = 4_096 + 24;

/// J per second.
pub(crate) async fn appended(place: &Place, warm_up: Duration, time: Duration) -> Result<f64> {
    match place {
        Place::Sqlite(_) => {
            let directory = new_directory(place)?;
            let path = directory.path().join("appended.db");
            let mut baseline = sqlite::Appended::new(&path, CONTEXT)?;
            rate(warm_up, time, async || baseline.group()).await
        }
        Place::Postgres(place) => {
            let mut baseline = postgres::Appended::new(place).await?;
            rate(warm_up, time, async || baseline.group().await).await
        }
    }
}

/// What J writes to its log for one instance with a state of so many bytes.
pub(crate) fn appended_log_bytes(place: &Place, state: usize, groups: usize) -> Result<f64> {
    let directory = new_directory(place)?;
    let mut baseline = sqlite::Appended::new(&directory.path().join("appended.db"), state)?;
    baseline.group()?;
    let before = baseline.pages();
    for _ in 0..groups {
        baseline.group()?;
    }
    Ok(float((baseline.pages() - before) * FRAME) / count(groups * GROUP))
}

/// B per second.
pub(crate) async fn random(
    place: &Place,
    instances: usize,
    warm_up: Duration,
    time: Duration,
) -> Result<f64> {
    match place {
        Place::Sqlite(_) => {
            let directory = new_directory(place)?;
            let path = directory.path().join("random.db");
            let mut baseline = sqlite::Random::new(&path, instances)?;
            rate(warm_up, time, async || baseline.batch()).await
        }
        Place::Postgres(place) => {
            let mut baseline = postgres::Random::new(place, instances).await?;
            rate(warm_up, time, async || baseline.batch().await).await
        }
    }
}

/// How much is done in a second; each call says how much it did.
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
