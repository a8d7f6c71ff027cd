//! A cache of instance rows, bounded in bytes.
//!
//! Rows are added only after a commit and removed when a batch takes them; after a conflict they
//! are not put back. So a cached row is what the store has, as long as this process is the only
//! writer. On a shared store nothing is cached.

use std::collections::BTreeMap;

use meantime_core::InstanceId;

use crate::open::Key;
use crate::store::InstanceRow;

/// A row and when it was last used. Boxed, because nodes of a map are half empty and rows are
/// large.
type Entry = (u64, Box<InstanceRow>);

/// A least recently used cache.
#[derive(Debug)]
pub(super) struct Cache {
    rows: BTreeMap<InstanceId, Entry>,
    by_use: BTreeMap<u64, InstanceId>,
    uses: u64,
    bytes: usize,
    limit: usize,
}

impl Cache {
    pub(super) fn new(limit: usize) -> Self {
        let (rows, by_use) = (BTreeMap::new(), BTreeMap::new());
        Self { rows, by_use, uses: 0, bytes: 0, limit }
    }

    pub(super) fn contains(&self, id: InstanceId) -> bool {
        self.rows.contains_key(&id)
    }

    /// Whether a timer of an instance is known to be armed.
    pub(super) fn has_timer(&self, id: InstanceId, timer: Key) -> bool {
        self.rows.get(&id).is_some_and(|(_, row)| row.open.timers.contains_key(&timer))
    }

    /// Removes a row, because it is about to change.
    pub(super) fn take(&mut self, id: InstanceId) -> Option<InstanceRow> {
        let (used, row) = self.rows.remove(&id)?;
        self.by_use.remove(&used);
        self.bytes = self.bytes.saturating_sub(size(&row));
        Some(*row)
    }

    /// Keeps a row that was just committed, unless the instance has ended.
    pub(super) fn put(&mut self, row: InstanceRow) {
        self.take(row.id);
        if row.phase.is_ended() {
            return;
        }
        self.uses += 1;
        self.bytes += size(&row);
        self.by_use.insert(self.uses, row.id);
        self.rows.insert(row.id, (self.uses, Box::new(row)));
        while self.bytes > self.limit
            && let Some((_, oldest)) = self.by_use.pop_first()
            && let Some((_, row)) = self.rows.remove(&oldest)
        {
            self.bytes = self.bytes.saturating_sub(size(&row));
        }
    }
}

/// The memory of a row with its entries in both maps and the overhead of the allocator.
fn size(row: &InstanceRow) -> usize {
    const ENTRIES: usize = 160;
    const BLOCK: usize = 32;
    // The first entry of a map allocates a node for eleven.
    const MAP: usize = 512;
    let open = &row.open;
    let maps = [
        open.timers.len().div_ceil(8),
        open.tasks.len().div_ceil(8),
        open.subscriptions.len().div_ceil(8),
    ];
    let open = maps.iter().sum::<usize>() * MAP;
    size_of::<InstanceRow>() + ENTRIES + row.state.bytes.len() + 2 * BLOCK + open
}
