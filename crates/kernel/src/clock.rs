//! The one clock (I7). No other file reads the time.
//!
//! Two times exist: *engine* time, which timers, deadlines, schedules, retries and time to live
//! use and which may be virtual, and *real* time, which leases and long polls use. On the wall
//! clock they are the same.

#[cfg(target_os = "linux")]
mod step;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
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

    /// Time since some moment, which passes evenly whatever is done to the wall clock. It goes on
    /// while the machine is suspended, where the system can tell.
    fn steady(&self) -> Duration {
        steady()
    }

    /// Time since some moment, as sleeps count it: it stands still while the machine is suspended.
    fn awake(&self) -> Duration {
        awake()
    }

    /// Calls back when the wall clock was set, or went on after the machine was suspended. Says
    /// whether it can: who is not told has to look for it.
    fn on_step(&self, _heard: Heard) -> bool {
        false
    }
}

/// Hears that the wall clock was set; says whether it wants to hear it again.
pub type Heard = Box<dyn Fn() -> bool + Send>;

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

    #[cfg(target_os = "linux")]
    fn on_step(&self, heard: Heard) -> bool {
        step::listen(heard)
    }
}

/// A clock put right by the time of a store that several nodes share, so that they all go by the
/// same time (I7). From one measurement to the next it goes on by steady time: whoever sets the
/// clock of this machine in between moves nothing.
pub struct AdjustedClock {
    inner: Arc<dyn Clock>,
    measured: RwLock<Option<Measured>>,
}

/// What the store's clock showed at a moment of steady time.
#[derive(Debug, Clone, Copy)]
struct Measured {
    time: Timestamp,
    at: Duration,
}

impl AdjustedClock {
    /// A clock that is believed until it is put right.
    pub const fn new(inner: Arc<dyn Clock>) -> Self {
        Self { inner, measured: RwLock::new(None) }
    }

    /// The clock of this machine, as it is.
    pub fn local(&self) -> Timestamp {
        self.inner.now().real
    }

    /// The store's clock showed this when [`Clock::steady`] was that.
    pub fn put_right(&self, time: Timestamp, at: Duration) {
        let mut measured = self.measured.write().unwrap_or_else(PoisonError::into_inner);
        *measured = Some(Measured { time, at });
    }

    /// The store's time, if it was ever measured.
    fn shared(&self) -> Option<Timestamp> {
        let measured = *self.measured.read().unwrap_or_else(PoisonError::into_inner);
        let Measured { time, at } = measured?;
        let passed = self.inner.steady().saturating_sub(at).as_millis();
        Some(time.saturating_add_millis(i64::try_from(passed).unwrap_or(i64::MAX)))
    }
}

impl Clock for AdjustedClock {
    fn now(&self) -> Now {
        let now = self.inner.now();
        let Some(shared) = self.shared() else { return now };
        Now { engine: if self.inner.is_virtual() { now.engine } else { shared }, real: shared }
    }

    fn until(&self, instant: Timestamp) -> Option<Duration> {
        let Some(shared) = self.shared().filter(|_| !self.inner.is_virtual()) else {
            return self.inner.until(instant);
        };
        let ms = u64::try_from(instant.saturating_since(shared)).unwrap_or(0);
        Some(Duration::from_millis(ms))
    }

    fn steady(&self) -> Duration {
        self.inner.steady()
    }

    fn awake(&self) -> Duration {
        self.inner.awake()
    }

    fn on_step(&self, heard: Heard) -> bool {
        self.inner.on_step(heard)
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

    fn on_step(&self, heard: Heard) -> bool {
        // Leases live in real time.
        SystemClock.on_step(heard)
    }
}

/// Notices that the wall clock was set, or went on while the machine was suspended: it and the time
/// that sleeps count disagree about how much has passed.
#[derive(Debug)]
pub struct StepDetector {
    wall: Timestamp,
    awake: Duration,
}

impl StepDetector {
    /// What a clock is corrected by without a word, in milliseconds: more is a step.
    pub const STEP_MS: i64 = 500;

    /// Begins to look at a clock.
    pub fn new(clock: &AdjustedClock) -> Self {
        Self { wall: clock.local(), awake: clock.awake() }
    }

    /// How far the clock was set since the last look, in milliseconds; backwards is negative.
    pub fn look(&mut self, clock: &AdjustedClock) -> Option<i64> {
        let before = std::mem::replace(self, Self::new(clock));
        let passed = self.awake.saturating_sub(before.awake).as_millis();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        let step = self.wall.saturating_since(before.wall).saturating_sub(passed);
        (step.abs() > Self::STEP_MS).then_some(step)
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

/// Time that passes evenly, suspended or not.
#[cfg(target_os = "linux")]
fn steady() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Time that passes evenly.
#[cfg(not(target_os = "linux"))]
fn steady() -> Duration {
    awake()
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock (I7)")]
fn awake() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock (I7)")]
fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
