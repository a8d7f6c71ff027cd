//! Wrappers around stores: for faults, for measurements, for tests.

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, Timestamp};

use super::{
    BoxFuture, ChildRef, CompactRequest, ConnectivityListener, DefinitionFilter, DefinitionRow,
    DueQuery, FetchRequest, Fetched, HistoryRow, IncidentCount, IncidentRow, InstanceCount,
    InstanceMatches, InstanceRow, InstanceSearch, Listener, Membership, Notice, OccurrenceKey,
    OccurrenceRow, OperationRow, Page, Partition, Plan, PurgeRequest, Purged, Recovered, Store,
    TaskFilter, TaskRow, TimerCount, TimerFilter, TimerKey, TimerRow, To, UnitResult,
};
use crate::history::AuditInfo;

/// A wrapper between the kernel and another store. All calls that it does not override are
/// forwarded.
pub trait Layer: Send + Sync {
    /// The wrapped store.
    fn inner(&self) -> &dyn Store;

    /// Overrides [`Store::commit`].
    fn on_commit(&self, fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        self.inner().commit(fetched, plan)
    }
}

impl<L: Layer> Store for L {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Fetched> {
        self.inner().fetch(request)
    }

    fn commit(&self, fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        self.on_commit(fetched, plan)
    }

    fn is_committed(&self, batch: u64) -> BoxFuture<'_, bool> {
        self.inner().is_committed(batch)
    }

    fn recover(&self, partition: Partition) -> BoxFuture<'_, Recovered> {
        self.inner().recover(partition)
    }

    fn due_timers(&self, query: DueQuery) -> BoxFuture<'_, Vec<TimerRow>> {
        self.inner().due_timers(query)
    }

    fn is_shared(&self) -> bool {
        self.inner().is_shared()
    }

    fn renew_lease(&self, real: Timestamp) -> BoxFuture<'_, Membership> {
        self.inner().renew_lease(real)
    }

    fn leave(&self) -> BoxFuture<'_, ()> {
        self.inner().leave()
    }

    fn notify(&self, notices: Vec<(To, Notice)>) -> BoxFuture<'_, ()> {
        self.inner().notify(notices)
    }

    fn listen(&self, listener: Listener) {
        self.inner().listen(listener);
    }

    fn ping(&self) -> BoxFuture<'_, ()> {
        self.inner().ping()
    }

    fn watch_connectivity(&self, listener: ConnectivityListener) {
        self.inner().watch_connectivity(listener);
    }

    fn definition(&self, id: DefinitionId) -> BoxFuture<'_, Option<DefinitionRow>> {
        self.inner().definition(id)
    }

    fn definitions(&self, filter: DefinitionFilter) -> BoxFuture<'_, Vec<DefinitionRow>> {
        self.inner().definitions(filter)
    }

    fn instance(&self, id: InstanceId) -> BoxFuture<'_, Option<InstanceRow>> {
        self.inner().instance(id)
    }

    fn search(&self, search: InstanceSearch) -> BoxFuture<'_, InstanceMatches> {
        self.inner().search(search)
    }

    fn count_instances(&self) -> BoxFuture<'_, Vec<InstanceCount>> {
        self.inner().count_instances()
    }

    fn count_incidents(&self, limit: usize) -> BoxFuture<'_, Vec<IncidentCount>> {
        self.inner().count_incidents(limit)
    }

    fn children(&self, parent: InstanceId) -> BoxFuture<'_, Vec<ChildRef>> {
        self.inner().children(parent)
    }

    fn history(&self, from: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>> {
        self.inner().history(from, limit)
    }

    fn history_since(&self, after: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>> {
        self.inner().history_since(after, limit)
    }

    fn task(&self, id: TaskId) -> BoxFuture<'_, Option<TaskRow>> {
        self.inner().task(id)
    }

    fn tasks(&self, filter: TaskFilter, page: Page<TaskId>) -> BoxFuture<'_, Vec<TaskRow>> {
        self.inner().tasks(filter, page)
    }

    fn timer(&self, key: TimerKey) -> BoxFuture<'_, Option<TimerRow>> {
        self.inner().timer(key)
    }

    fn timers(&self, filter: TimerFilter, page: Page<TimerKey>) -> BoxFuture<'_, Vec<TimerRow>> {
        self.inner().timers(filter, page)
    }

    fn count_timers(&self, query: TimerCount) -> BoxFuture<'_, Vec<(u64, u64)>> {
        self.inner().count_timers(query)
    }

    fn incident(&self, id: IncidentId) -> BoxFuture<'_, Option<IncidentRow>> {
        self.inner().incident(id)
    }

    fn incidents(
        &self,
        instance: Option<InstanceId>,
        page: Page<IncidentId>,
    ) -> BoxFuture<'_, Vec<IncidentRow>> {
        self.inner().incidents(instance, page)
    }

    fn occurrences(
        &self,
        schedule: InstanceId,
        page: Page<OccurrenceKey>,
    ) -> BoxFuture<'_, Vec<OccurrenceRow>> {
        self.inner().occurrences(schedule, page)
    }

    fn operations(&self, page: Page<u64>) -> BoxFuture<'_, Vec<OperationRow>> {
        self.inner().operations(page)
    }

    fn purge(&self, request: PurgeRequest) -> BoxFuture<'_, Purged> {
        self.inner().purge(request)
    }

    fn compact(&self, request: CompactRequest) -> BoxFuture<'_, usize> {
        self.inner().compact(request)
    }

    fn mark_restored(&self, now: Timestamp, audit: AuditInfo) -> BoxFuture<'_, u32> {
        self.inner().mark_restored(now, audit)
    }

    fn check(&self) -> BoxFuture<'_, Vec<String>> {
        self.inner().check()
    }
}
