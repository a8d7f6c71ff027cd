//! Processor time of threads: the cost of a job, independent of how busy the machine is.

use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};

#[cfg(not(unix))]
use crate::clock::Stopwatch;
use crate::thread_priority::Handle;

/// The processor time of the calling thread at some moment. On systems other than Unix it is
/// elapsed time.
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

    /// The processor time that a thread of this process has used since a moment of its own, as far
    /// as the system has counted: the last few milliseconds may be missing. `None` if it cannot be
    /// known.
    #[cfg(target_os = "linux")]
    pub(super) fn elapsed_of(&self, thread: Handle) -> Option<Duration> {
        let path = format!("/proc/self/task/{}/schedstat", thread.number());
        let counted = std::fs::read_to_string(path).ok()?;
        let nanos = counted.split_ascii_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(nanos).saturating_sub(self.0))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn elapsed_of(&self, _: Handle) -> Option<Duration> {
        None
    }

    /// The processor time that the calling thread, which must be the same, has used since.
    #[cfg(unix)]
    pub(super) fn elapsed(&self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }

    #[cfg(not(unix))]
    pub(super) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::thread_priority;

    #[test]
    fn another_thread_can_be_asked_what_it_used() {
        let (give, get) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let since = ThreadTime::now();
            while since.elapsed() < Duration::from_millis(3) {}
            give.send((thread_priority::current(), since)).expect("somebody waits");
            ends.recv().expect("somebody says so");
        });
        let (handle, since) = get.recv().expect("it says who it is");
        // The other thread waits now, so all its time has been counted.
        let used = (0..).find_map(|_| {
            std::thread::yield_now();
            since.elapsed_of(handle).filter(|used| *used >= Duration::from_millis(3))
        });
        assert!(used.is_some());
        end.send(()).expect("it waits");
        thread.join().expect("it ends");
    }
}
