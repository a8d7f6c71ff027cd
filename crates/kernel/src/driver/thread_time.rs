//! Time that a thread was given by the processor: what a job costs, however busy the machine is.

use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};

#[cfg(not(unix))]
use crate::clock::Stopwatch;

/// The time of the thread that asks, at some moment. Elsewhere than on Unix it is time that passed.
#[derive(Debug)]
pub(super) struct ThreadTime(#[cfg(unix)] Duration, #[cfg(not(unix))] Stopwatch);

impl ThreadTime {
    #[cfg(unix)]
    pub(super) fn now() -> Self {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Self(Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default()))
    }

    #[cfg(not(unix))]
    pub(super) fn now() -> Self {
        Self(Stopwatch::start())
    }

    /// What the thread, which must be the same, has used since.
    #[cfg(unix)]
    pub(super) fn elapsed(&self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }

    #[cfg(not(unix))]
    pub(super) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
