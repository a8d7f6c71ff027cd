//! A wrapper around a store that measures what was committed, when, and how late its timers were.
//!
//! It inspects plans before the commit and counts them when the store has answered that they are
//! durable. All calls are forwarded unchanged.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meantime_core::Timestamp;
use meantime_kernel::clock::Clock;
use meantime_kernel::store::{
    BoxFuture, Fence, Fetched, Layer, Plan, Store, Unit, UnitResult, Write,
};
use tokio::sync::watch;

use super::sample::Sample;

/// What was measured since the last call.
#[derive(Debug, Clone, Default)]
pub(super) struct Observations {
    /// From the due time to the answer of the commit, in milliseconds.
    pub(super) lateness: Sample,
    /// Rows that were inserted, updated or deleted.
    pub(super) rows: u64,
    pub(super) commits: u64,
    /// The largest size of the log, in bytes.
    pub(super) log_bytes: u64,
}

/// The current size of the log, in bytes.
type LogSize = Box<dyn Fn() -> u64 + Send + Sync>;

/// A store that measures another store.
pub(super) struct ObservedStore {
    inner: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    log_size: LogSize,
    observations: Mutex<Observations>,
    fired: watch::Sender<u64>,
}

impl ObservedStore {
    pub(super) fn new(inner: Arc<dyn Store>, clock: Arc<dyn Clock>, log_size: LogSize) -> Self {
        let (fired, _) = watch::channel(0);
        Self { inner, clock, log_size, observations: Mutex::default(), fired }
    }

    /// What was measured since the last call; resets the counters.
    pub(super) fn take_observations(&self) -> Observations {
        std::mem::take(&mut *self.observations())
    }

    /// The number of timers that have fired, as a channel to wait on.
    pub(super) fn fired(&self) -> watch::Receiver<u64> {
        self.fired.subscribe()
    }

    fn observations(&self) -> MutexGuard<'_, Observations> {
        self.observations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn committed(&self, units: &[Watch], results: &[UnitResult]) {
        let now = self.clock.now().engine;
        let mut observations = self.observations();
        observations.commits += 1;
        observations.log_bytes = observations.log_bytes.max((self.log_size)());
        let mut fired = 0;
        for (unit, result) in units.iter().zip(results) {
            if matches!(result, UnitResult::Done(_)) {
                observations.rows += unit.rows;
                for due_at in &unit.due {
                    fired += 1;
                    observations.lateness.add(lateness_ms(now, *due_at));
                }
            }
        }
        drop(observations);
        if fired > 0 {
            self.fired.send_modify(|all| *all += fired);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a bench fit")]
fn lateness_ms(now: Timestamp, due_at: Timestamp) -> f64 {
    now.saturating_since(due_at) as f64
}

/// What a unit will have done once it is committed.
struct Watch {
    rows: u64,
    due: Vec<Timestamp>,
}

impl Watch {
    fn of(unit: &Unit, now: Timestamp) -> Self {
        let fence_rows = match unit.fence {
            Fence::Insert(_) | Fence::Turn { .. } | Fence::Task { .. } => 1,
            Fence::Free | Fence::Unchanged { .. } => 0,
        };
        let rows = fence_rows + u64::try_from(unit.writes.len()).unwrap_or_default();
        let due = unit.writes.iter().filter_map(|write| match write {
            Write::DeleteTimer(key) if key.due_at <= now => Some(key.due_at),
            _ => None,
        });
        Self { rows, due: due.collect() }
    }
}

impl Layer for ObservedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn on_commit(&self, fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        let units: Vec<_> = plan.units.iter().map(|unit| Watch::of(unit, plan.now)).collect();
        let answer = self.inner.commit(fetched, plan);
        Box::pin(async move {
            let results = answer.await?;
            self.committed(&units, &results);
            Ok(results)
        })
    }
}
