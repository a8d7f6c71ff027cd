//! Threads that compute for long pause regularly.
//!
//! Even at the lowest priority a thread keeps its core for some milliseconds against threads of
//! another scheduling group, and kernel threads are always in another one: the kernel thread that
//! forwards a flush to the disk waited up to ten milliseconds for a slow turn, and every commit
//! with it. A core whose thread sleeps is available at once. So a thread that computes for long
//! sleeps briefly every half millisecond, at points that the computation itself passes
//! ([`pause_point`]). Threads that read long lists do the same.

use std::cell::Cell;
use std::time::Duration;

use meantime_core::pause_point;

use crate::clock::Stopwatch;

/// How long a thread computes between two pauses.
pub const RUN_BETWEEN_PAUSES: Duration = Duration::from_micros(500);

/// The shortest duration of a pause.
const PAUSE_DURATION: Duration = Duration::from_micros(50);

thread_local! {
    /// Since when this thread computes, and how long it may compute without a pause.
    static RUNNING: Cell<Option<(Stopwatch, Duration)>> = const { Cell::new(None) };
}

/// Enables pauses on this thread.
pub fn install() {
    begin(RUN_BETWEEN_PAUSES);
    pause_point::install(pause);
}

/// A computation begins on this thread; its first pause comes after this time.
pub fn begin(first: Duration) {
    RUNNING.set(Some((Stopwatch::start(), first)));
}

#[expect(clippy::disallowed_methods, reason = "it waits for nothing: it lets others run")]
fn pause() {
    if let Some((since, run)) = RUNNING.get()
        && since.elapsed() >= run
    {
        std::thread::sleep(PAUSE_DURATION);
        begin(RUN_BETWEEN_PAUSES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time that is left until the next pause.
    fn allowed() -> Duration {
        RUNNING.get().map(|(_, run)| run).expect("a computation runs")
    }

    #[test]
    fn a_thread_pauses_when_it_has_computed_for_its_share_and_then_begins_anew() {
        install();
        begin(Duration::MAX);
        pause_point::here();
        assert_eq!(allowed(), Duration::MAX, "not yet");
        begin(Duration::ZERO);
        pause_point::here();
        assert_eq!(allowed(), RUN_BETWEEN_PAUSES, "it paused");
    }
}
