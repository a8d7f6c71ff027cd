//! The rows of a store, read through the `Store` trait.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, Timestamp};
use meantime_kernel::store::{
    ChildRef, DefinitionFilter, DefinitionRow, Error, HistoryRow, InboxRow, IncidentRow,
    InstanceFilter, InstanceRow, MessageRow, OccurrenceRow, Page, Partition, Store,
    SubscriptionRow, TaskFilter, TaskRow, TimerFilter, TimerKey, TimerRow,
};

use crate::harness::block_on;

/// All rows that can be read, and those that only some stores expose.
#[derive(Debug, Default)]
pub struct StoredRows {
    /// The time of the check, which decides what is due or expired.
    pub now: Timestamp,
    /// Instances.
    pub instances: BTreeMap<InstanceId, InstanceRow>,
    /// Their histories, oldest first.
    pub histories: BTreeMap<InstanceId, Vec<HistoryRow>>,
    /// Live children by parent.
    pub children: BTreeMap<InstanceId, Vec<ChildRef>>,
    /// Armed timers.
    pub timers: BTreeMap<TimerKey, TimerRow>,
    /// Tasks.
    pub tasks: BTreeMap<TaskId, TaskRow>,
    /// Open incidents.
    pub incidents: BTreeMap<IncidentId, IncidentRow>,
    /// Ledgers of schedules, oldest occurrence first.
    pub ledgers: BTreeMap<InstanceId, Vec<OccurrenceRow>>,
    /// Definitions.
    pub definitions: BTreeMap<DefinitionId, DefinitionRow>,
    /// Instances that are ready to run a turn.
    pub ready: BTreeSet<InstanceId>,
    /// Inbox, messages and subscriptions, if the store exposes them.
    pub waiting: Option<StoredWaits>,
}

/// Inbox, messages and subscriptions.
#[derive(Debug, Default)]
pub struct StoredWaits {
    /// Events that no turn has taken yet.
    pub inbox: Vec<InboxRow>,
    /// Signals and messages that no instance has taken yet.
    pub messages: Vec<MessageRow>,
    /// Subscriptions to shared channels.
    pub subscriptions: Vec<SubscriptionRow>,
}

impl StoredRows {
    /// Reads everything, for stores that fit into memory.
    pub fn read(store: &dyn Store, now: Timestamp) -> Result<Self, Error> {
        const ALL: usize = usize::MAX >> 1;
        let mut rows = Self { now, ..Self::default() };
        let instances = store.instances(InstanceFilter::default(), Page::first(ALL));
        for row in block_on(instances)? {
            let mut history = block_on(store.history(row.last_history, ALL))?;
            history.reverse();
            rows.histories.insert(row.id, history);
            let children = block_on(store.children(row.id))?;
            if !children.is_empty() {
                rows.children.insert(row.id, children);
            }
            let mut ledger = block_on(store.occurrences(row.id, Page::first(ALL)))?;
            if !ledger.is_empty() {
                ledger.reverse();
                rows.ledgers.insert(row.id, ledger);
            }
            rows.instances.insert(row.id, row);
        }
        let timers = block_on(store.timers(TimerFilter::default(), Page::first(ALL)))?;
        rows.timers.extend(timers.into_iter().map(|row| (row.key(), row)));
        let tasks = block_on(store.tasks(TaskFilter::default(), Page::first(ALL)))?;
        rows.tasks.extend(tasks.into_iter().map(|row| (row.id, row)));
        let incidents = block_on(store.incidents(None, Page::first(ALL)))?;
        rows.incidents.extend(incidents.into_iter().map(|row| (row.id, row)));
        let definitions = block_on(store.definitions(DefinitionFilter::default()))?;
        rows.definitions.extend(definitions.into_iter().map(|row| (row.id, row)));
        rows.ready.extend(block_on(store.recover(Partition::ALL))?.ready);
        Ok(rows)
    }

    /// The name of an instance's definition.
    pub fn name_of(&self, row: &InstanceRow) -> &str {
        self.definitions.get(&row.definition).map_or("", |it| it.name.as_str())
    }

    /// Instances that have not ended.
    pub fn live(&self) -> impl Iterator<Item = &InstanceRow> {
        self.instances.values().filter(|row| !row.phase.is_ended())
    }
}
