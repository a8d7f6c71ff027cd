//! Retention and compaction, beside the regular work.
//!
//! ```text
//!   loop ── first commit since the last pass ──► maintenance ── purge, compact ──► store
//!        ── clock moved, long history ─────────►      │
//!                                                     └─ one sleep: until something can expire
//! ```
//!
//! Nothing polls (I12): after a pass the store returns when the next data can expire, and the next
//! pass is then. Data that is written meanwhile may expire earlier, so the first commit after a
//! pass moves the next one forward, to at most an hour later; without commits there is no
//! statement. Rows are deleted in small transactions, one at a time, each after the commits that
//! are waiting. While others commit, retention pauses after each transaction for as long as it
//! took; if it falls behind for long, its portions grow, so that it keeps up with any rate of
//! starts.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use meantime_core::{Limits, Retention, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::run::pause;
use crate::clock::Clock;
use crate::store::{CompactRequest, Error, PurgeRequest, Store};

/// Data that is written after a pass is examined at the latest after this time, in milliseconds.
const LATEST_MS: i64 = 3_600_000;

/// And at the earliest after this time, so that many short-lived rows are deleted together.
const EARLIEST_MS: i64 = 1_000;

/// After this many portions in a row that left more to do, the size of a portion doubles.
const FULL_PASSES_BEFORE_GROWTH: u32 = 8;

/// How often it doubles at most.
const MAX_LIMIT_DOUBLINGS: u32 = 3;

/// What retention and compaction have done since the kernel started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaintenanceStats {
    /// Number of purge calls.
    pub looks: u64,
    /// Rows deleted by retention.
    pub purged: usize,
    /// Instances among them.
    pub instances: usize,
    /// History rows removed from instances that continue.
    pub compacted: usize,
    /// The next pass, if nothing is written before; `None` means never.
    pub next: Option<Timestamp>,
}

pub(super) enum MaintenanceSignal {
    /// Something was committed.
    Committed,
    /// A virtual clock was moved.
    ClockMoved,
    Compact(CompactRequest),
}

/// The handle of the event loop: sends signals and waits for the end.
pub(super) struct MaintenanceHandle {
    notes: mpsc::UnboundedSender<MaintenanceSignal>,
    wants_commit: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl MaintenanceHandle {
    pub(super) fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        retention: Arc<Retention>,
        limits: &Limits,
        report: watch::Sender<MaintenanceStats>,
        runtime: &Handle,
    ) -> Self {
        let (notes, receiver) = mpsc::unbounded_channel();
        let wants_commit = Arc::new(AtomicBool::new(false));
        let maintenance_loop = MaintenanceLoop {
            horizon_ms: horizon(&retention, limits),
            limit: limits.purge_rows.max(1),
            store,
            clock,
            retention,
            report,
            wants_commit: wants_commit.clone(),
            next: None,
            full: 0,
        };
        let task = runtime.spawn(maintenance_loop.run(receiver));
        Self { notes, wants_commit, task }
    }

    /// A commit took effect. Only the first one after a pass sends a signal.
    pub(super) fn committed(&self) {
        if self.wants_commit.swap(false, Ordering::SeqCst) {
            self.send(MaintenanceSignal::Committed);
        }
    }

    pub(super) fn send(&self, signal: MaintenanceSignal) {
        // The task may have ended.
        let _ = self.notes.send(signal);
    }

    /// Ends the task after the current transaction.
    pub(super) async fn stop(self) {
        drop(self.notes);
        // A panic of the task was reported by the runtime.
        let _ = self.task.await;
    }
}

struct MaintenanceLoop {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    retention: Arc<Retention>,
    limit: usize,
    horizon_ms: i64,
    report: watch::Sender<MaintenanceStats>,
    wants_commit: Arc<AtomicBool>,
    next: Option<Timestamp>,
    /// Portions in a row that left more to do.
    full: u32,
}

impl MaintenanceLoop {
    async fn run(mut self, mut notes: mpsc::UnboundedReceiver<MaintenanceSignal>) {
        self.next = Some(self.clock.now().engine);
        loop {
            let signal = if self.next.is_some_and(|at| at <= self.clock.now().engine) {
                self.look().await;
                // Lets other tasks of this thread run first.
                tokio::task::yield_now().await;
                match notes.try_recv() {
                    Ok(signal) => Some(signal),
                    Err(mpsc::error::TryRecvError::Empty) => None,
                    Err(mpsc::error::TryRecvError::Disconnected) => return,
                }
            } else {
                let sleep = self.sleep();
                tokio::select! {
                    signal = notes.recv() => match signal {
                        Some(signal) => Some(signal),
                        None => return,
                    },
                    () = sleep => None,
                }
            };
            match signal {
                Some(MaintenanceSignal::Committed) => {
                    let at = self.clock.now().engine.saturating_add_millis(self.horizon_ms);
                    self.next = Some(self.next.map_or(at, |known| known.min(at)));
                    self.report.send_modify(|report| report.next = self.next);
                }
                Some(MaintenanceSignal::Compact(request)) => self.compact(request).await,
                Some(MaintenanceSignal::ClockMoved) | None => {}
            }
        }
    }

    /// Deletes one portion.
    async fn look(&mut self) {
        // Set before the read: a commit from here on may be missed by this pass, so it must signal.
        self.wants_commit.store(true, Ordering::SeqCst);
        let begun = self.clock.now();
        let now = begun.engine;
        let retention = self.retention.clone();
        let limit = self
            .limit
            .saturating_mul(1 << (self.full / FULL_PASSES_BEFORE_GROWTH).min(MAX_LIMIT_DOUBLINGS));
        let request = PurgeRequest { now, retention, limit };
        let store = self.store.clone();
        match beside(async move { store.purge(request).await }).await {
            Ok(purged) => {
                self.next = purged.next;
                let is_behind = purged.next.is_some_and(|next| next <= now);
                self.full = if is_behind { self.full.saturating_add(1) } else { 0 };
                self.report.send_modify(|report| {
                    report.looks += 1;
                    report.purged += purged.rows();
                    report.instances += purged.instances;
                    report.next = purged.next;
                });
                // A commit during the pass has cleared the flag. The pause leaves the store to such
                // commits; without them the next portion follows at once.
                let others_commit = !self.wants_commit.load(Ordering::SeqCst);
                if is_behind && others_commit {
                    rest(self.clock.now().real.saturating_since(begun.real)).await;
                }
            }
            // If the store is unreachable or full, the pass is repeated; the machine reports the
            // problem.
            Err(_) => pause().await,
        }
    }

    async fn compact(&self, request: CompactRequest) {
        let store = self.store.clone();
        // Rows that are not removed now are removed by the next compaction of the instance.
        if let Ok(rows) = beside(async move { store.compact(request).await }).await {
            self.report.send_modify(|report| report.compacted += rows);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the one sleep of retention, by the Clock")]
    fn sleep(&self) -> impl Future<Output = ()> + Send + use<> {
        let sleep = self.next.and_then(|at| self.clock.until(at)).map(tokio::time::sleep);
        async move {
            match sleep {
                Some(sleep) => sleep.await,
                None => std::future::pending().await,
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "real work gets as much time as retention had")]
async fn rest(millis: i64) {
    tokio::time::sleep(Duration::from_millis(u64::try_from(millis).unwrap_or_default())).await;
}

/// Runs a store call on a thread that may block, because it reads much in one go.
async fn beside<T: Send + 'static>(
    call: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let runtime = Handle::current();
    let done = tokio::task::spawn_blocking(move || runtime.block_on(call)).await;
    done.unwrap_or_else(|error| Err(Error::Bug(error.to_string())))
}

/// The shortest time after which data that is written now may expire, within bounds.
fn horizon(retention: &Retention, limits: &Limits) -> i64 {
    let limits = [limits.message_ttl_ms, limits.dedup_ms, limits.idempotency_ms];
    let limits = limits.into_iter().map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
    let others = [retention.detached_tasks, retention.occurrences];
    let others = others.into_iter().filter_map(|keep| keep.as_millis());
    let shortest = retention.shortest().into_iter().chain(others).chain(limits).min();
    shortest.unwrap_or(LATEST_MS).clamp(EARLIEST_MS, LATEST_MS)
}
