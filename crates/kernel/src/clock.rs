//! The one clock (I7). No other file reads the time.
//!
//! Two times exist: *engine* time, which timers, deadlines, schedules, retries and time to live
//! use and which may be virtual, and *real* time, which leases and long polls use. On the wall
//! clock they are the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

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

    /// Whether engine time is moved by somebody, instead of passing.
    fn is_virtual(&self) -> bool {
        false
    }
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

/// A clock put right by the time of a store that several nodes share, so that they all go by the
/// same time (I7).
pub struct AdjustedClock {
    inner: Arc<dyn Clock>,
    ahead_ms: AtomicI64,
}

impl AdjustedClock {
    /// A clock that is believed until it is put right.
    pub const fn new(inner: Arc<dyn Clock>) -> Self {
        Self { inner, ahead_ms: AtomicI64::new(0) }
    }

    /// The clock of this machine, as it is.
    pub fn local(&self) -> Timestamp {
        self.inner.now().real
    }

    /// How far the store's clock is ahead of this machine's.
    pub fn set_ahead(&self, ms: i64) {
        self.ahead_ms.store(ms, Ordering::SeqCst);
    }
}

impl Clock for AdjustedClock {
    fn now(&self) -> Now {
        let (ahead, now) = (self.ahead_ms.load(Ordering::SeqCst), self.inner.now());
        let right = |at: Timestamp| at.saturating_add_millis(ahead);
        let engine = if self.inner.is_virtual() { now.engine } else { right(now.engine) };
        Now { engine, real: right(now.real) }
    }

    fn until(&self, instant: Timestamp) -> Option<Duration> {
        let ahead = self.ahead_ms.load(Ordering::SeqCst);
        self.inner.until(instant.saturating_add_millis(ahead.saturating_neg()))
    }

    fn is_virtual(&self) -> bool {
        self.inner.is_virtual()
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

    fn is_virtual(&self) -> bool {
        true
    }
}

/// Measures how long something takes, for figures and for who gets in under load. Nothing that is
/// stored depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins to measure.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock (I7)")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long ago it began.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock (I7)")]
fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
