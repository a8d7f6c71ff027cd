//! What the machine remembers of the store: rows of instances and of tasks, which instances are
//! damaged, and how far the history goes.
//!
//! Rows are added only after a commit and removed when a batch takes them; after a conflict they
//! are not put back. So a cached row is what the store has, as long as this process is the only
//! writer. On a shared store a row may be outdated at any time, so none is kept.
//!
//! Only tasks are kept that somebody will report on: leased ones, and those that the engine runs.
//! The batch that wrote such a row saves the batch with the report from reading it back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meantime_core::{InstanceId, TaskId};

use crate::open::Key;
use crate::store::{InstanceRow, TaskRow};

/// What the machine remembers of the store.
#[derive(Debug)]
pub(super) struct Memory {
    /// The rows of instances; none if other nodes may change them.
    rows: Option<Cache<InstanceId, Arc<InstanceRow>>>,
    /// The rows of tasks that are being worked on; none if other nodes may change them.
    tasks: Option<Cache<TaskId, Box<TaskRow>>>,
    /// Instances with rows that cannot be decoded, each with its incident.
    damaged: BTreeSet<InstanceId>,
    /// The number of the newest committed history row.
    history: u64,
}

impl Memory {
    pub(super) fn new(cache_bytes: usize, shared_store: bool) -> Self {
        let for_tasks = cache_bytes / TASKS_SHARE;
        let rows = (!shared_store).then(|| Cache::new(cache_bytes - for_tasks));
        let tasks = (!shared_store).then(|| Cache::new(for_tasks));
        Self { rows, tasks, damaged: BTreeSet::new(), history: 0 }
    }

    /// Keeps a row as the store has it, unless the instance has ended.
    pub(super) fn keep(&mut self, row: impl Into<Arc<InstanceRow>>) {
        let Some(rows) = &mut self.rows else { return };
        let row = row.into();
        rows.take(row.id);
        if !row.phase.is_ended() {
            rows.put(row.id, instance_bytes(&row), row);
        }
    }

    /// Keeps a row that was read, unless a commit has left a newer one.
    pub(super) fn keep_if_absent(&mut self, row: InstanceRow) {
        if self.rows.as_ref().is_some_and(|rows| rows.get(row.id).is_none()) {
            self.keep(row);
        }
    }

    /// Takes a row out, because it is about to change.
    pub(super) fn take(&mut self, id: InstanceId) -> Option<InstanceRow> {
        self.rows.as_mut()?.take(id).map(Arc::unwrap_or_clone)
    }

    /// Whether a timer of an instance is known to be armed.
    pub(super) fn has_timer(&self, id: InstanceId, timer: Key) -> bool {
        let row = self.rows.as_ref().and_then(|rows| rows.get(id));
        row.is_some_and(|row| row.open.timers.contains_key(&timer))
    }

    /// Keeps the row of a task that somebody will report on, as the store has it.
    pub(super) fn keep_task(&mut self, row: &TaskRow) {
        if let Some(tasks) = &mut self.tasks {
            tasks.put(row.id, task_bytes(row), Box::new(row.clone()));
        }
    }

    /// Takes the row of a task out, because it is about to change, or has changed.
    pub(super) fn take_task(&mut self, id: TaskId) -> Option<TaskRow> {
        self.tasks.as_mut()?.take(id).map(|row| *row)
    }

    /// Notes that an instance is damaged; whether that is new.
    pub(super) fn note_damage(&mut self, id: InstanceId) -> bool {
        self.damaged.insert(id)
    }

    /// An instance is not damaged, or its incident was not committed: the next damage is new.
    pub(super) fn forget_damage(&mut self, id: InstanceId) {
        self.damaged.remove(&id);
    }

    pub(super) fn is_damaged(&self, id: InstanceId) -> bool {
        self.damaged.contains(&id)
    }

    /// A history row was committed. Batches of a shared store may be answered in any order.
    pub(super) fn saw_history(&mut self, number: u64) {
        self.history = self.history.max(number);
    }

    /// The number of the newest committed history row.
    pub(super) fn history(&self) -> u64 {
        self.history
    }
}

/// The part of the cache that is for tasks.
const TASKS_SHARE: usize = 8;

/// When a value was last used, its size, and the value.
type Entry<V> = (u64, usize, V);

/// A least recently used cache, bounded in bytes. Its values are pointers, because nodes of a map
/// are half empty and rows are large.
#[derive(Debug)]
struct Cache<K, V> {
    entries: BTreeMap<K, Entry<V>>,
    by_use: BTreeMap<u64, K>,
    uses: u64,
    bytes: usize,
    limit: usize,
}

impl<K: Ord + Copy, V> Cache<K, V> {
    fn new(limit: usize) -> Self {
        let (entries, by_use) = (BTreeMap::new(), BTreeMap::new());
        Self { entries, by_use, uses: 0, bytes: 0, limit }
    }

    fn get(&self, key: K) -> Option<&V> {
        self.entries.get(&key).map(|(_, _, value)| value)
    }

    fn take(&mut self, key: K) -> Option<V> {
        let (used, bytes, value) = self.entries.remove(&key)?;
        self.by_use.remove(&used);
        self.bytes -= bytes;
        Some(value)
    }

    /// Keeps a value; those that were not used for longest give way to it.
    fn put(&mut self, key: K, bytes: usize, value: V) {
        self.take(key);
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, key);
        self.entries.insert(key, (self.uses, bytes, value));
        while self.bytes > self.limit
            && let Some((_, oldest)) = self.by_use.pop_first()
            && let Some((_, bytes, _)) = self.entries.remove(&oldest)
        {
            self.bytes -= bytes;
        }
    }
}

/// What an entry takes in both maps.
const ENTRY_BYTES: usize = 160;

/// What the allocator adds to a block.
const BLOCK_BYTES: usize = 32;

/// The memory of a row of a task with its entries in both maps.
fn task_bytes(row: &TaskRow) -> usize {
    let spec = &row.spec;
    let headers = spec.headers.as_ref().map_or(0, |it| it.as_str().len());
    let texts = spec.queue.len() + spec.name.len() + spec.element.len() + headers;
    size_of::<TaskRow>() + ENTRY_BYTES + texts + spec.input.as_str().len() + 8 * BLOCK_BYTES
}

/// The memory of a row with its entries in both maps and the overhead of the allocator.
fn instance_bytes(row: &InstanceRow) -> usize {
    // The first entry of a map allocates a node for eleven.
    const MAP: usize = 512;
    let open = &row.open;
    let maps = [
        open.timers.len().div_ceil(8),
        open.tasks.len().div_ceil(8),
        open.subscriptions.len().div_ceil(8),
    ];
    let open = maps.iter().sum::<usize>() * MAP;
    size_of::<InstanceRow>() + ENTRY_BYTES + row.state.bytes.len() + 2 * BLOCK_BYTES + open
}

#[cfg(test)]
mod tests {
    use meantime_core::{DefinitionId, State, Timestamp};

    use super::super::test_id::id;
    use super::*;
    use crate::store::Phase;

    const LIMIT: usize = 100_000;

    fn row(number: u64, bytes: usize) -> InstanceRow {
        InstanceRow {
            turn_no: 1,
            state: State::new(0, vec![0; bytes]),
            ..InstanceRow::accepted(id(number), DefinitionId(1), Timestamp::default())
        }
    }

    #[test]
    fn a_row_is_kept_until_a_batch_takes_it() {
        let mut memory = Memory::new(LIMIT, false);
        memory.keep(row(1, 10));
        memory.keep_if_absent(InstanceRow { turn_no: 0, ..row(1, 10) });
        assert_eq!(memory.take(id(1)).map(|row| row.turn_no), Some(1), "the newer one");
        assert_eq!(memory.take(id(1)), None);
    }

    #[test]
    fn ended_instances_are_not_kept() {
        let mut memory = Memory::new(LIMIT, false);
        memory.keep(row(1, 10));
        memory.keep(InstanceRow { phase: Phase::Completed, ..row(1, 10) });
        assert_eq!(memory.take(id(1)), None);
    }

    #[test]
    fn the_rows_that_were_not_used_for_longest_give_way() {
        let mut memory = Memory::new(LIMIT, false);
        for number in 1..=3 {
            memory.keep(row(number, LIMIT / 4));
        }
        memory.keep(row(1, LIMIT / 4));
        memory.keep(row(4, LIMIT / 4));
        let kept: Vec<_> = (1..=4).filter(|it| memory.take(id(*it)).is_some()).collect();
        assert_eq!(kept, [1, 3, 4]);
    }

    #[test]
    fn rows_of_a_shared_store_are_not_kept() {
        let mut memory = Memory::new(LIMIT, true);
        memory.keep(row(1, 10));
        memory.keep_if_absent(row(1, 10));
        assert_eq!(memory.take(id(1)), None);
    }

    #[test]
    fn damage_is_new_once_and_history_only_grows() {
        let mut memory = Memory::new(LIMIT, false);
        assert!(memory.note_damage(id(1)) && !memory.note_damage(id(1)));
        memory.forget_damage(id(1));
        assert!(!memory.is_damaged(id(1)) && memory.note_damage(id(1)));
        memory.saw_history(7);
        memory.saw_history(5);
        assert_eq!(memory.history(), 7);
    }
}
