//! The only clock (I7). No other file reads the time.
//!
//! There are two times: *engine* time, which timers, deadlines, schedules, retries and times to
//! live use and which may be virtual, and *real* time, which leases and long polls use. On the wall
//! clock they are equal.

#[cfg(target_os = "linux")]
mod step;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use meantime_core::Timestamp;

/// Both times at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// The time for timers and deadlines.
    pub engine: Timestamp,
    /// The time for leases.
    pub real: Timestamp,
}

impl Now {
    /// The same instant on both clocks.
    pub const fn at(instant: Timestamp) -> Self {
        Self { engine: instant, real: instant }
    }

    /// The later of both, separately: kernel time never goes backwards (T13).
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

    /// Whether engine time moves only on request.
    fn is_virtual(&self) -> bool {
        false
    }

    /// Monotonic time since some moment, independent of the wall clock. It continues while the
    /// machine is suspended, where the system supports that.
    fn steady(&self) -> Duration {
        steady()
    }

    /// Monotonic time since some moment, as sleeps count it: it stops while the machine is
    /// suspended.
    fn awake(&self) -> Duration {
        awake()
    }

    /// Calls back when the wall clock was set, or jumped after the machine was suspended. Returns
    /// false if the system cannot report that, and the caller must check for it.
    fn on_step(&self, _heard: Heard) -> bool {
        false
    }
}

/// Called when the wall clock was set; returns whether it wants further calls.
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

/// A clock adjusted to the time of a shared store, so that all its nodes use the same time (I7).
/// Between two measurements it follows monotonic time, so setting the clock of this machine has no
/// effect.
pub struct AdjustedClock {
    inner: Arc<dyn Clock>,
    measured: RwLock<Option<Measured>>,
}

/// The time of the store at a moment of monotonic time.
#[derive(Debug, Clone, Copy)]
struct Measured {
    time: Timestamp,
    at: Duration,
}

impl AdjustedClock {
    /// An unadjusted clock.
    pub const fn new(inner: Arc<dyn Clock>) -> Self {
        Self { inner, measured: RwLock::new(None) }
    }

    /// The unadjusted clock of this machine.
    pub fn local(&self) -> Timestamp {
        self.inner.now().real
    }

    /// Adjusts the clock: the store had this time when [`Clock::steady`] had that value.
    pub fn put_right(&self, time: Timestamp, at: Duration) {
        let mut measured = self.measured.write().unwrap_or_else(PoisonError::into_inner);
        *measured = Some(Measured { time, at });
    }

    /// The time of the store, if it was ever measured.
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

/// An engine clock that moves only on request; leases still use the wall clock.
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
        // Leases use real time.
        SystemClock.on_step(heard)
    }
}

/// Detects that the wall clock was set, or jumped while the machine was suspended: it and the time
/// that sleeps count have advanced by different amounts.
#[derive(Debug)]
pub struct StepDetector {
    wall: Timestamp,
    awake: Duration,
}

impl StepDetector {
    /// Smaller differences are normal corrections of a clock, in milliseconds; larger ones are
    /// steps.
    pub const STEP_MS: i64 = 500;

    /// Starts observing a clock.
    pub fn new(clock: &AdjustedClock) -> Self {
        Self { wall: clock.local(), awake: clock.awake() }
    }

    /// How far the clock was set since the last call, in milliseconds; negative is backwards.
    pub fn look(&mut self, clock: &AdjustedClock) -> Option<i64> {
        let before = std::mem::replace(self, Self::new(clock));
        let passed = self.awake.saturating_sub(before.awake).as_millis();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        let step = self.wall.saturating_since(before.wall).saturating_sub(passed);
        (step.abs() > Self::STEP_MS).then_some(step)
    }
}

/// Measures durations, for figures and for admission. Nothing that is stored depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock (I7)")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long ago it began.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Monotonic time that includes suspension.
#[cfg(target_os = "linux")]
fn steady() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Monotonic time.
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
