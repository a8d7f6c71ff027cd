//! The one clock (I7). No other file reads the time.
//!
//! Two times exist: *engine* time, which timers, deadlines, schedules, retries and time to live
//! use and which may be virtual, and *real* time, which leases and long polls use. On the wall
//! clock they are the same.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use meantime_core::Timestamp;

/// Both times at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// What timers and deadlines are compared with.
    pub engine: Timestamp,
    /// What leases are compared with.
    pub real: Timestamp,
}

impl Now {
    /// The same instant on both clocks.
    pub const fn at(instant: Timestamp) -> Self {
        Self { engine: instant, real: instant }
    }

    /// The later of both, each for itself: kernel time never goes backwards (T13).
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { engine: self.engine.max(other.engine), real: self.real.max(other.real) }
    }
}

/// Tells the time and how long to sleep until an instant.
pub trait Clock: Send + Sync {
    /// Both times now.
    fn now(&self) -> Now;

    /// How long to sleep in real time until engine time reaches the instant; none when only
    /// somebody moving a virtual clock can make it come.
    fn until(&self, instant: Timestamp) -> Option<Duration>;
}

/// The wall clock.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now::at(wall_clock())
    }

    fn until(&self, instant: Timestamp) -> Option<Duration> {
        let ms = instant.saturating_since(wall_clock());
        Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }
}

/// An engine clock that stands still until it is moved; leases still use the wall clock.
#[derive(Debug)]
pub struct VirtualClock {
    engine_ms: AtomicI64,
}

impl VirtualClock {
    /// A clock that stands at an instant.
    pub const fn new(start: Timestamp) -> Self {
        Self { engine_ms: AtomicI64::new(start.as_millis()) }
    }

    /// Moves the clock forward to an instant; it never goes back.
    pub fn advance_to(&self, instant: Timestamp) {
        self.engine_ms.fetch_max(instant.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Now {
        let engine = Timestamp::from_millis(self.engine_ms.load(Ordering::SeqCst));
        Now { engine, real: wall_clock() }
    }

    fn until(&self, _instant: Timestamp) -> Option<Duration> {
        None
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock (I7)")]
fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
