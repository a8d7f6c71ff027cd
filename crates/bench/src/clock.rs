//! The wall clock plus an offset: a timer that is due tomorrow can be measured today, at the speed
//! of real time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use meantime_core::Timestamp;
use meantime_kernel::clock::{Clock, Now, SystemClock};

/// A clock that runs at the usual speed and can be set forward.
#[derive(Debug, Default)]
pub(super) struct OffsetClock {
    offset_ms: AtomicI64,
}

impl OffsetClock {
    pub(super) fn new(offset_ms: i64) -> Self {
        Self { offset_ms: AtomicI64::new(offset_ms) }
    }

    pub(super) fn engine(&self) -> Timestamp {
        self.now().engine
    }

    /// Sets the clock to an instant; it never goes back.
    pub(super) fn set(&self, instant: Timestamp) {
        let ahead = instant.saturating_since(SystemClock.now().engine);
        self.offset_ms.fetch_max(ahead, Ordering::SeqCst);
    }
}

impl Clock for OffsetClock {
    fn now(&self) -> Now {
        let Now { engine, real } = SystemClock.now();
        let ahead = self.offset_ms.load(Ordering::SeqCst);
        Now { engine: engine.saturating_add_millis(ahead), real }
    }

    fn until(&self, instant: Timestamp) -> Option<Duration> {
        let ms = instant.saturating_since(self.engine());
        Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }
}
