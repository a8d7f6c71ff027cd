//! The clock of in-memory runs while the engine's clock is virtual.
//!
//! The virtual clock does not move while a request waits for its response, so a retry or a deadline
//! of such a run would never fire. This clock shows the time of the virtual clock, and jumps to the
//! next due instant when as much real time has passed as was left until then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use meantime_core::Timestamp;
use meantime_kernel::clock::{Clock, Now};

/// How long after its real time an awaited instant is still applied. The waiting kernel wakes up at
/// once; if nothing asked for so long, the wait was abandoned.
const WAKE_GRACE_MS: i64 = 1_000;

/// A clock whose engine time advances only to awaited instants.
pub(crate) struct RequestClock {
    engine: Arc<dyn Clock>,
    state: Mutex<ClockState>,
}

#[derive(Debug, Default)]
struct ClockState {
    /// The latest instant that it has jumped to.
    reached: Timestamp,
    /// The awaited instant, and the real time at which the clock jumps to it.
    awaited: Option<(Timestamp, Timestamp)>,
}

impl RequestClock {
    /// Wraps a virtual clock; returns any other clock unchanged.
    pub(crate) fn wrap(engine: Arc<dyn Clock>) -> Arc<dyn Clock> {
        if !engine.is_virtual() {
            return engine;
        }
        Arc::new(Self { engine, state: Mutex::default() })
    }

    fn now_in(&self, state: &mut ClockState) -> Now {
        let Now { engine, real } = self.engine.now();
        if let Some((instant, comes)) = state.awaited {
            let since = real.saturating_since(comes);
            if since >= 0 {
                state.awaited = None;
            }
            if (0..WAKE_GRACE_MS).contains(&since) {
                state.reached = state.reached.max(instant);
            }
        }
        Now { engine: engine.max(state.reached), real }
    }
}

impl Clock for RequestClock {
    fn now(&self) -> Now {
        self.now_in(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn until(&self, instant: Timestamp) -> Option<Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now_in(&mut state);
        let left = instant.saturating_since(now.engine).max(0);
        let comes = match state.awaited {
            Some((known, comes)) if known == instant => comes,
            _ => now.real.saturating_add_millis(left),
        };
        state.awaited = Some((instant, comes));
        let left = comes.saturating_since(now.real).max(0);
        Some(Duration::from_millis(u64::try_from(left).unwrap_or_default()))
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// A clock whose two times the test sets.
    #[derive(Default)]
    struct ManualClock {
        engine: AtomicI64,
        real: AtomicI64,
    }

    impl Clock for ManualClock {
        fn now(&self) -> Now {
            let at = |ms: &AtomicI64| Timestamp::from_millis(ms.load(Ordering::SeqCst));
            Now { engine: at(&self.engine), real: at(&self.real) }
        }

        fn until(&self, _: Timestamp) -> Option<Duration> {
            None
        }

        fn is_virtual(&self) -> bool {
            true
        }
    }

    #[test]
    fn time_jumps_to_what_is_waited_for_and_stands_still_otherwise() {
        let manual = Arc::new(ManualClock::default());
        let clock = RequestClock::wrap(manual.clone());
        let engine = || clock.now().engine.as_millis();
        manual.engine.store(1_000, Ordering::SeqCst);
        manual.real.store(50_000, Ordering::SeqCst);
        assert_eq!(engine(), 1_000);
        let due = Timestamp::from_millis(1_500);
        assert_eq!(clock.until(due), Some(Duration::from_millis(500)));
        manual.real.store(50_400, Ordering::SeqCst);
        assert_eq!(engine(), 1_000);
        assert_eq!(clock.until(due), Some(Duration::from_millis(100)));
        manual.real.store(50_500, Ordering::SeqCst);
        assert_eq!(engine(), 1_500);
        // It stays there, and continues with the engine's clock once that has caught up.
        manual.real.store(60_000, Ordering::SeqCst);
        assert_eq!(engine(), 1_500);
        manual.engine.store(9_000, Ordering::SeqCst);
        assert_eq!(engine(), 9_000);
        // An instant that is no longer awaited is not reached.
        clock.until(Timestamp::from_millis(10_000));
        manual.real.store(90_000, Ordering::SeqCst);
        assert_eq!(engine(), 9_000);
    }
}
