//! Runs a baseline for some time.

use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;

use super::super::notation::CONTEXT;
use super::super::place::Place;
use super::super::report::{count, float};
use super::super::rig::new_directory;
use super::appended::{Appended, GROUP};
use super::random::Random;

/// A frame of the log: a page and its header.
const FRAME: u64 = 4_096 + 24;

/// J per second.
pub(crate) fn appended(place: &Place, warm_up: Duration, time: Duration) -> Result<f64> {
    let directory = new_directory(place)?;
    let mut baseline = Appended::new(&directory.path().join("appended.db"), CONTEXT)?;
    rate(warm_up, time, || baseline.group())
}

/// What J writes to its log for one instance with a state of so many bytes.
pub(crate) fn appended_log_bytes(place: &Place, state: usize, groups: usize) -> Result<f64> {
    let directory = new_directory(place)?;
    let mut baseline = Appended::new(&directory.path().join("appended.db"), state)?;
    baseline.group()?;
    let before = baseline.pages();
    for _ in 0..groups {
        baseline.group()?;
    }
    Ok(float((baseline.pages() - before) * FRAME) / count(groups * GROUP))
}

/// B per second.
pub(crate) fn random(
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
fn rate(warm_up: Duration, time: Duration, mut run: impl FnMut() -> Result<usize>) -> Result<f64> {
    let watch = Stopwatch::start();
    while watch.elapsed() < warm_up {
        run()?;
    }
    let (watch, mut done) = (Stopwatch::start(), 0);
    while watch.elapsed() < time {
        done += run()?;
    }
    Ok(count(done) / watch.elapsed().as_secs_f64())
}
