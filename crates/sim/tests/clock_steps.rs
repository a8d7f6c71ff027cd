//! T13, P6: a wall clock that is set, or that advanced while the machine was suspended, is noticed.
//! The tests use a clock of their own, not the clock of the machine.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use meantime_core::{Source, Timestamp};
use meantime_kernel::clock::{AdjustedClock, Clock, Heard, Now, StepDetector};
use meantime_kernel::command::{Command, Reply, StartCommand, Wait};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::machine::Notations;
use meantime_kernel::store::MemoryStore;
use meantime_sim::probe::Probe;

const HOUR_MS: i64 = 3_600_000;

/// A test that would wait for ever fails after this time.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A wall clock that can be set, and monotonic time beside it.
#[derive(Default)]
struct Settable {
    wall_ms: AtomicI64,
    steady_ms: AtomicI64,
    heard: Mutex<Vec<Heard>>,
    /// Whether it notifies when it is set.
    tells: bool,
}

impl Settable {
    fn at(instant: &str, tells: bool) -> Arc<Self> {
        let wall = Timestamp::parse(instant).expect("an instant").as_millis();
        Arc::new(Self { wall_ms: AtomicI64::new(wall), tells, ..Self::default() })
    }

    /// Lets time pass.
    fn pass(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        self.steady_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the wall clock.
    fn set_by(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.retain(|heard| heard());
    }
}

impl Clock for Settable {
    fn now(&self) -> Now {
        Now::at(Timestamp::from_millis(self.wall_ms.load(Ordering::SeqCst)))
    }

    /// The time until an instant, if the clock is not set in between.
    fn until(&self, instant: Timestamp) -> Option<Duration> {
        let ms = instant.saturating_since(self.now().real);
        Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }

    fn steady(&self) -> Duration {
        let ms = self.steady_ms.load(Ordering::SeqCst);
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }

    fn awake(&self) -> Duration {
        self.steady()
    }

    fn on_step(&self, heard: Heard) -> bool {
        if self.tells {
            self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(heard);
        }
        self.tells
    }
}

async fn kernel(clock: Arc<Settable>) -> Kernel {
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let builder = Builder::new(Arc::new(MemoryStore::new()), notations).clock(clock);
    let kernel = builder.start().await.expect("the kernel starts");
    let text = "probe sleeper\ntimer t PT30M\nawait t\nend \"awake\"\n";
    let source = Source { name: "probes".to_owned(), text: text.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probe is good");
    kernel
}

/// Starts a timer of half an hour, sets the clock an hour ahead, and waits for the instance to end.
async fn fires_after_a_step(clock: Arc<Settable>) {
    let kernel = kernel(clock.clone()).await;
    let mut steps = kernel.clock_step();
    let definition = "sleeper".to_owned();
    let start = StartCommand { definition, ..StartCommand::default() };
    let started = kernel.call_and_wait(Command::Start(start), Wait::Quiet, None).await;
    assert!(matches!(started, Ok(Reply::Started { .. })), "{started:?}");
    let mut history = kernel.history();
    clock.set_by(HOUR_MS);
    // Nothing else happens: only the clock step can wake the loop.
    let noticed = tokio::time::timeout(WAIT_TIMEOUT, steps.wait_for(|step| step.count > 0)).await;
    let step = *noticed.expect("it is noticed").expect("the kernel runs");
    assert_eq!((step.count, step.by_ms), (1, HOUR_MS));
    loop {
        history.mark_unchanged();
        if kernel.counters().await.expect("the kernel runs").fired == 1 {
            break;
        }
        history.changed().await.expect("the kernel runs");
    }
    assert_eq!(kernel.counters().await.expect("the kernel runs").clock_steps, 1);
    kernel.stop().await;
}

#[tokio::test]
async fn p6_a_clock_that_is_set_ahead_fires_what_is_due_when_the_system_tells() {
    fires_after_a_step(Settable::at("2026-01-01T00:00:00Z", true)).await;
}

#[tokio::test]
async fn p6_a_clock_that_is_set_ahead_is_looked_at_every_second_elsewhere() {
    fires_after_a_step(Settable::at("2026-01-01T00:00:00Z", false)).await;
}

#[test]
fn p6_setting_the_clock_of_a_node_between_measurements_moves_nothing() {
    let local = Settable::at("2026-01-01T00:00:00Z", true);
    let clock = AdjustedClock::new(local.clone());
    let at = |text: &str| Timestamp::parse(text).expect("an instant");
    clock.put_right(at("2026-01-01T00:00:05Z"), clock.steady());
    local.pass(1_000);
    assert_eq!(clock.now(), Now::at(at("2026-01-01T00:00:06Z")));
    for step in [HOUR_MS, -3 * HOUR_MS] {
        local.set_by(step);
        assert_eq!(clock.now(), Now::at(at("2026-01-01T00:00:06Z")), "never early, never back");
    }
    local.pass(2_000);
    assert_eq!(clock.until(at("2026-01-01T00:00:10Z")), Some(Duration::from_secs(2)));
}

#[test]
fn p6_steps_are_told_from_time_that_passes() {
    let local = Settable::at("2026-01-01T00:00:00Z", true);
    let clock = AdjustedClock::new(local.clone());
    let mut steps = StepDetector::new(&clock);
    local.pass(10 * HOUR_MS);
    assert_eq!(steps.look(&clock), None);
    local.set_by(StepDetector::STEP_MS);
    assert_eq!(steps.look(&clock), None, "small corrections are no steps");
    local.pass(1);
    local.set_by(-HOUR_MS);
    assert_eq!(steps.look(&clock), Some(-HOUR_MS));
    assert_eq!(steps.look(&clock), None);
}
