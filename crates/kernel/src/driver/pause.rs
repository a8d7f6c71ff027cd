//! Threads that compute slow turns pause now and then.
//!
//! However low its priority, a thread keeps its core for some milliseconds against threads of
//! another scheduling group, and those of the operating system are always in another one: the
//! thread that passes a flush on to the disk waited for up to ten milliseconds behind a slow turn,
//! and every commit with it. A core whose thread sleeps is given away at once. So a thread that
//! computes for long sleeps for a moment each half millisecond; the computation passes such points
//! itself (`meantime_core::pause_point`).

use std::cell::Cell;
use std::time::Duration;

use meantime_core::pause_point;

use crate::clock::Stopwatch;

/// How long a thread computes between two pauses.
pub(super) const RUN: Duration = Duration::from_micros(500);

/// How long a pause lasts, at least.
const PAUSE: Duration = Duration::from_micros(50);

thread_local! {
    /// Since when this thread computes, and for how long it may without a pause.
    static RUNNING: Cell<Option<(Stopwatch, Duration)>> = const { Cell::new(None) };
}

/// Lets this thread pause.
pub(super) fn install() {
    pause_point::install(pause);
}

/// A computation begins on this thread; its first pause comes after so long.
pub(super) fn begin(first: Duration) {
    RUNNING.set(Some((Stopwatch::start(), first)));
}

#[expect(clippy::disallowed_methods, reason = "it waits for nothing: it lets others run")]
fn pause() {
    if let Some((since, run)) = RUNNING.get()
        && since.elapsed() >= run
    {
        std::thread::sleep(PAUSE);
        begin(RUN);
    }
}
