//! The live feed of history rows for event streams.
//!
//! ```text
//!   kernel ── new history ──► one reader ── rows ──► every subscriber
//!                                 │
//!                               store        a late or slow subscriber reads the store itself
//!                                            until it has caught up
//! ```
//!
//! Each row is read once for all subscribers, and not at all without subscribers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::driver::Kernel;
use meantime_kernel::store::{HistoryRow, Store};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use crate::problem::Problem;

/// Rows read from the store at a time.
const PAGE_ROWS: usize = 500;

/// How many rows a subscriber may lag behind before it reads the store itself.
const MAX_LAG_ROWS: usize = 4_096;

/// Maximum number of cached definition ids of instances.
const MAX_CACHED_DEFINITIONS: usize = 50_000;

/// The feed.
pub(crate) struct HistoryFeed {
    kernel: Kernel,
    rows: broadcast::Sender<Arc<HistoryRow>>,
    definitions: Mutex<BTreeMap<InstanceId, DefinitionId>>,
}

impl HistoryFeed {
    /// Starts the reader. Needs a tokio runtime.
    pub(crate) fn start(kernel: &Kernel) -> Self {
        let rows = broadcast::Sender::new(MAX_LAG_ROWS);
        tokio::spawn(broadcast_history(
            kernel.history(),
            Arc::downgrade(kernel.store()),
            rows.clone(),
        ));
        Self { kernel: kernel.clone(), rows, definitions: Mutex::new(BTreeMap::new()) }
    }

    /// The definition of an instance; none if the instance was deleted. Cached, because every row
    /// and subscriber asks for it.
    pub(crate) async fn definition_of(
        &self,
        instance: InstanceId,
    ) -> Result<Option<DefinitionId>, Problem> {
        let known = || self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(definition) = known().get(&instance).copied() {
            return Ok(Some(definition));
        }
        let row = self.kernel.store().instance(instance).await?;
        let definition = row.map(|row| row.definition);
        let mut known = known();
        if known.len() >= MAX_CACHED_DEFINITIONS {
            known.clear();
        }
        known.extend(definition.map(|definition| (instance, definition)));
        Ok(definition)
    }

    /// Subscribes to rows after a sequence number, or to new rows.
    pub(crate) fn subscribe(&self, after: Option<u64>) -> FeedSubscriber {
        let live = self.rows.subscribe();
        let seen = after.unwrap_or_else(|| *self.kernel.history().borrow());
        FeedSubscriber { kernel: self.kernel.clone(), live, seen, read: Vec::new(), behind: true }
    }
}

/// Reads new rows and broadcasts them. It holds the store only while it reads, so that the store
/// can be closed and opened again after the engine has stopped.
async fn broadcast_history(
    mut history: watch::Receiver<u64>,
    store: Weak<dyn Store>,
    rows: broadcast::Sender<Arc<HistoryRow>>,
) {
    let mut seen = *history.borrow_and_update();
    while history.changed().await.is_ok() {
        let newest = *history.borrow_and_update();
        if rows.receiver_count() == 0 {
            seen = newest;
            continue;
        }
        let Some(store) = store.upgrade() else { return };
        // After a store error, reading continues with the next notification.
        while let Ok(page) = store.history_since(seen, PAGE_ROWS).await {
            let Some(last) = page.last() else { break };
            seen = last.seq;
            for row in page {
                // Fails only if the last subscriber has gone.
                let _ = rows.send(Arc::new(row));
            }
        }
    }
}

/// A subscriber of the feed.
pub(crate) struct FeedSubscriber {
    kernel: Kernel,
    live: broadcast::Receiver<Arc<HistoryRow>>,
    seen: u64,
    /// Rows read from the store and not yet returned, newest first.
    read: Vec<HistoryRow>,
    behind: bool,
}

impl FeedSubscriber {
    /// The next row; none when the engine has stopped.
    pub(crate) async fn next(&mut self) -> Result<Option<Arc<HistoryRow>>, Problem> {
        loop {
            if let Some(row) = self.read.pop() {
                self.seen = row.seq;
                return Ok(Some(Arc::new(row)));
            }
            if self.behind {
                let mut page = self.kernel.store().history_since(self.seen, PAGE_ROWS).await?;
                self.behind = page.len() == PAGE_ROWS;
                page.reverse();
                self.read = page;
                continue;
            }
            match self.live.recv().await {
                Ok(row) if row.seq > self.seen => {
                    self.seen = row.seq;
                    return Ok(Some(row));
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }
}
