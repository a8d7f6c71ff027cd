//! Runs a baseline for some time.

use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;

use super::super::place::Place;
use super::super::rig::new_directory;
use super::appended::Appended;
use super::random::Random;

/// J per second.
pub(in super::super) fn appended(place: &Place, warm_up: Duration, time: Duration) -> Result<f64> {
    let directory = new_directory(place)?;
    let mut baseline = Appended::new(&directory.path().join("appended.db"))?;
    rate(warm_up, time, || baseline.group())
}

/// B per second.
pub(in super::super) fn random(
    place: &Place,
    count: usize,
    warm_up: Duration,
    time: Duration,
) -> Result<f64> {
    let directory = new_directory(place)?;
    let mut baseline = Random::new(&directory.path().join("random.db"), count)?;
    rate(warm_up, time, || baseline.batch())
}

/// How much is done in a second; each call says how much it did.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn rate(warm_up: Duration, time: Duration, mut run: impl FnMut() -> Result<usize>) -> Result<f64> {
    let watch = Stopwatch::start();
    while watch.elapsed() < warm_up {
        run()?;
    }
    let (watch, mut done) = (Stopwatch::start(), 0);
    while watch.elapsed() < time {
        done += run()?;
    }
    Ok(done as f64 / watch.elapsed().as_secs_f64())
}
