//! Stores on top of stores: for faults, for measuring, for tests.

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, Timestamp};

use super::{
    ChildRef, CompactRequest, ConnectivityListener, DefinitionFilter, DefinitionRow, DueQuery,
    HistoryRow, IncidentRow, InstanceFilter, InstanceRow, Listener, Membership, Notice,
    OccurrenceKey, OccurrenceRow, OperationRow, Page, Pending, Plan, PurgeRequest, Purged,
    Recovered, Share, Store, TakeRequest, Taken, TaskFilter, TaskRow, TimerCount, TimerFilter,
    TimerKey, TimerRow, To, UnitResult,
};
use crate::history::By;

/// Something between the kernel and another store. What it does not take in hand goes through.
pub trait Layer: Send + Sync {
    /// The store below.
    fn inner(&self) -> &dyn Store;

    /// On [`Store::commit`].
    fn on_commit(&self, taken: Taken, plan: Plan) -> Pending<'_, Vec<UnitResult>> {
        self.inner().commit(taken, plan)
    }
}

impl<L: Layer> Store for L {
    fn take(&self, request: TakeRequest) -> Pending<'_, Taken> {
        self.inner().take(request)
    }

    fn commit(&self, taken: Taken, plan: Plan) -> Pending<'_, Vec<UnitResult>> {
        self.on_commit(taken, plan)
    }

    fn is_committed(&self, batch: u64) -> Pending<'_, bool> {
        self.inner().is_committed(batch)
    }

    fn recover(&self, share: Share) -> Pending<'_, Recovered> {
        self.inner().recover(share)
    }

    fn due_timers(&self, query: DueQuery) -> Pending<'_, Vec<TimerRow>> {
        self.inner().due_timers(query)
    }

    fn is_shared(&self) -> bool {
        self.inner().is_shared()
    }

    fn renew_lease(&self, real: Timestamp) -> Pending<'_, Membership> {
        self.inner().renew_lease(real)
    }

    fn leave(&self) -> Pending<'_, ()> {
        self.inner().leave()
    }

    fn tell(&self, notices: Vec<(To, Notice)>) -> Pending<'_, ()> {
        self.inner().tell(notices)
    }

    fn listen(&self, listener: Listener) {
        self.inner().listen(listener);
    }

    fn ping(&self) -> Pending<'_, ()> {
        self.inner().ping()
    }

    fn watch_connectivity(&self, listener: ConnectivityListener) {
        self.inner().watch_connectivity(listener);
    }

    fn definition(&self, id: DefinitionId) -> Pending<'_, Option<DefinitionRow>> {
        self.inner().definition(id)
    }

    fn definitions(&self, filter: DefinitionFilter) -> Pending<'_, Vec<DefinitionRow>> {
        self.inner().definitions(filter)
    }

    fn instance(&self, id: InstanceId) -> Pending<'_, Option<InstanceRow>> {
        self.inner().instance(id)
    }

    fn instances(
        &self,
        filter: InstanceFilter,
        page: Page<InstanceId>,
    ) -> Pending<'_, Vec<InstanceRow>> {
        self.inner().instances(filter, page)
    }

    fn children(&self, parent: InstanceId) -> Pending<'_, Vec<ChildRef>> {
        self.inner().children(parent)
    }

    fn history(&self, from: u64, limit: usize) -> Pending<'_, Vec<HistoryRow>> {
        self.inner().history(from, limit)
    }

    fn history_since(&self, after: u64, limit: usize) -> Pending<'_, Vec<HistoryRow>> {
        self.inner().history_since(after, limit)
    }

    fn task(&self, id: TaskId) -> Pending<'_, Option<TaskRow>> {
        self.inner().task(id)
    }

    fn tasks(&self, filter: TaskFilter, page: Page<TaskId>) -> Pending<'_, Vec<TaskRow>> {
        self.inner().tasks(filter, page)
    }

    fn timer(&self, key: TimerKey) -> Pending<'_, Option<TimerRow>> {
        self.inner().timer(key)
    }

    fn timers(&self, filter: TimerFilter, page: Page<TimerKey>) -> Pending<'_, Vec<TimerRow>> {
        self.inner().timers(filter, page)
    }

    fn count_timers(&self, query: TimerCount) -> Pending<'_, Vec<(u64, u64)>> {
        self.inner().count_timers(query)
    }

    fn incident(&self, id: IncidentId) -> Pending<'_, Option<IncidentRow>> {
        self.inner().incident(id)
    }

    fn incidents(
        &self,
        instance: Option<InstanceId>,
        page: Page<IncidentId>,
    ) -> Pending<'_, Vec<IncidentRow>> {
        self.inner().incidents(instance, page)
    }

    fn occurrences(
        &self,
        schedule: InstanceId,
        page: Page<OccurrenceKey>,
    ) -> Pending<'_, Vec<OccurrenceRow>> {
        self.inner().occurrences(schedule, page)
    }

    fn operations(&self, page: Page<u64>) -> Pending<'_, Vec<OperationRow>> {
        self.inner().operations(page)
    }

    fn purge(&self, request: PurgeRequest) -> Pending<'_, Purged> {
        self.inner().purge(request)
    }

    fn compact(&self, request: CompactRequest) -> Pending<'_, usize> {
        self.inner().compact(request)
    }

    fn mark_restored(&self, now: Timestamp, by: By) -> Pending<'_, u32> {
        self.inner().mark_restored(now, by)
    }

    fn check(&self) -> Pending<'_, Vec<String>> {
        self.inner().check()
    }
}
