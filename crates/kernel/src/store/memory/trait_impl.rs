//! The `Store` trait on the tables.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, TaskKind, Timestamp};

use super::lock::Hold;
use super::tables::Tables;
use crate::history::AuditInfo;
use crate::store::{
    BoxFuture, ChildRef, CompactRequest, DefinitionFilter, DefinitionRow, DueQuery, Error, Fence,
    FetchRequest, Fetched, FetchedInstance, HistoryRow, InboxRow, IncidentCount, IncidentRow,
    InstanceCount, InstanceMatches, InstanceRow, InstanceSearch, Listener, Membership, MessageRow,
    Notice, OccurrenceKey, OccurrenceRow, OperationRow, Page, Partition, Phase, Plan, PurgeRequest,
    Purged, Recovered, Store, SubscriptionRow, TaskFilter, TaskRow, TaskState, TimerCount,
    TimerFilter, TimerKey, TimerRow, To, UnitResult, WaitingTask,
};

/// An in-memory store, as one node sees it.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
    /// The node's own number, if several nodes share the store.
    node: Option<u64>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same store for one more node; all nodes must be created this way.
    #[must_use]
    pub fn for_node(&self) -> Self {
        let node = self.tables().nodes.add();
        Self { tables: self.tables.clone(), node: Some(node) }
    }

    /// Inbox, stored signals and messages, and subscriptions, which no method of the trait returns.
    /// For checkers.
    pub fn waiting(&self) -> (Vec<InboxRow>, Vec<MessageRow>, Vec<SubscriptionRow>) {
        let tables = self.tables();
        let inbox = tables.inbox.values().cloned().collect();
        let messages = tables.messages.values().cloned().collect();
        (inbox, messages, tables.subscriptions.values().cloned().collect())
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // A panic while the lock is held cannot leave half of a transaction: applying writes cannot
        // panic.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}

fn page<'a, K: PartialOrd + Copy + 'a, R: Clone + 'a>(
    rows: impl Iterator<Item = (K, &'a R)>,
    page: Page<K>,
) -> Vec<R> {
    rows.filter(|(key, _)| page.after.is_none_or(|after| *key > after))
        .take(page.limit)
        .map(|(_, row)| row.clone())
        .collect()
}

impl Tables {
    /// Reads what is requested; with a hold, instances that others have locked are not read.
    fn fetch(&mut self, request: &FetchRequest, hold: Option<u64>) -> Fetched {
        let mut locks = std::mem::take(&mut self.locks);
        let instances = request.instances.iter().map(|wanted| {
            let id = wanted.id;
            if hold.is_some_and(|hold| !locks.take(id, hold)) {
                return FetchedInstance { busy: true, ..FetchedInstance::default() };
            }
            let row = if wanted.row { self.instances.get(&id).cloned() } else { None };
            let range = (id, 0)..=(id, u64::MAX);
            let rows = self.inbox.range(range).map(|(_, row)| row).filter(|row| row.held.is_none());
            let limit = if wanted.inbox { request.inbox_limit } else { 0 };
            let inbox = rows.take(limit).cloned().collect();
            FetchedInstance { row, inbox, ..FetchedInstance::default() }
        });
        let instances = instances.collect();
        self.locks = locks;
        Fetched {
            instances,
            tasks: request.tasks.iter().map(|id| self.tasks.get(id).cloned()).collect(),
            claims: request.claims.iter().map(|it| self.claimable(it, request.now)).collect(),
            incidents: request.incidents.iter().map(|it| self.incidents.get(it).cloned()).collect(),
            ..Fetched::default()
        }
    }

    /// Resolves and applies a plan.
    fn commit(&mut self, node: Option<u64>, plan: &Plan) -> Result<Vec<UnitResult>, Error> {
        self.nodes.check(node, plan.lease_term)?;
        let (batch, now) = (plan.batch, plan.now);
        let mut fences = self.fences(&plan.fenced());
        let mut found = self.find(&plan.lookups(), now);
        let mut held: Vec<Fence> = Vec::new();
        let resolved = plan.resolve(&BTreeSet::new(), &mut found, |unit| {
            let holds = fences.admit(unit);
            if holds {
                held.push(unit.fence.clone());
            }
            Ok(holds)
        })?;
        for fence in held {
            self.apply_fence(fence);
        }
        for (_, write) in resolved.writes {
            self.apply(write.into_owned());
        }
        self.nodes.committed(node, batch);
        self.clock = self.clock.max(now);
        Ok(resolved.results)
    }

    fn recover(&self, node: Option<u64>, partition: Partition) -> Recovered {
        let mut ready: BTreeSet<InstanceId> = BTreeSet::new();
        ready.extend(self.inbox.values().filter(|row| row.held.is_none()).map(|row| row.instance));
        let unfinished = |row: &&InstanceRow| {
            matches!(row.phase, Phase::Starting | Phase::Yielding) && row.meta.may_go_on()
        };
        ready.extend(self.instances.values().filter(unfinished).map(|row| row.id));
        ready.retain(|id| partition.holds(*id));
        let waiting = |task: &&TaskRow| match task.state {
            TaskState::Leased => true,
            TaskState::Ready => {
                task.spec.kind == TaskKind::Engine || task.available_at > self.clock
            }
            TaskState::Held | TaskState::Done => false,
        };
        let tasks = self.tasks.values().filter(|task| partition.holds(task.id.0.instance));
        let tasks = tasks.filter(waiting).map(|task| WaitingTask {
            id: task.id,
            kind: task.spec.kind,
            queue: task.spec.queue.clone(),
            state: task.state,
            available_at: task.available_at,
            lease_until: task.lease.as_ref().map(|lease| lease.until),
            timeout_at: task.lease.as_ref().and_then(|lease| lease.timeout_at),
        });
        Recovered {
            epoch: self.epoch,
            paused: self.paused,
            clock: self.clock,
            batch: self.nodes.last_batch(node),
            // Only a simulated crash uses a store in memory again.
            was_cut_off: node.is_none(),
            seq: self.seq,
            ready: ready.into_iter().collect(),
            tasks: tasks.collect(),
        }
    }
}

impl Store for MemoryStore {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Fetched> {
        let hold = self.node.map(|_| {
            let mut tables = self.tables();
            Hold { tables: self.tables.clone(), number: tables.locks.begin() }
        });
        let mut fetched = self.tables().fetch(&request, hold.as_ref().map(|it| it.number));
        fetched.hold = hold.map(|hold| Box::new(hold) as Box<dyn Any + Send>);
        ready(fetched)
    }

    fn commit(&self, _fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        Box::pin(std::future::ready(self.tables().commit(self.node, &plan)))
    }

    fn is_committed(&self, batch: u64) -> BoxFuture<'_, bool> {
        ready(self.tables().nodes.last_batch(self.node) >= batch)
    }

    fn recover(&self, partition: Partition) -> BoxFuture<'_, Recovered> {
        ready(self.tables().recover(self.node, partition))
    }

    fn due_timers(&self, query: DueQuery) -> BoxFuture<'_, Vec<TimerRow>> {
        let tables = self.tables();
        let rows = tables.timers.iter().map(|(key, row)| (*key, row)).filter(|(key, _)| {
            !key.frozen
                && query.before.is_none_or(|before| key.due_at < before)
                && query.partition.holds(key.id.0.instance)
        });
        ready(page(rows, Page { after: query.after, limit: query.limit }))
    }

    fn is_shared(&self) -> bool {
        self.node.is_some()
    }

    fn renew_lease(&self, real: Timestamp) -> BoxFuture<'_, Membership> {
        let membership = match self.node {
            Some(node) => self.tables().nodes.renew_lease(node, real),
            None => Ok(Membership::alone()),
        };
        Box::pin(std::future::ready(membership))
    }

    fn leave(&self) -> BoxFuture<'_, ()> {
        self.tables().nodes.leave(self.node);
        ready(())
    }

    fn notify(&self, notices: Vec<(To, Notice)>) -> BoxFuture<'_, ()> {
        // Called without the lock: a listener may use the store.
        let calls = self.tables().nodes.route(self.node, notices);
        for (listener, notices) in calls {
            listener(notices);
        }
        ready(())
    }

    fn listen(&self, listener: Listener) {
        self.tables().nodes.listen(self.node, listener);
    }

    fn definition(&self, id: DefinitionId) -> BoxFuture<'_, Option<DefinitionRow>> {
        ready(self.tables().definitions.get(&id).cloned())
    }

    fn definitions(&self, filter: DefinitionFilter) -> BoxFuture<'_, Vec<DefinitionRow>> {
        let tables = self.tables();
        let mut seen = BTreeSet::new();
        let rows = tables.definitions.values().rev().filter(|row| {
            filter.name.as_ref().is_none_or(|name| row.name == *name)
                && filter.version.is_none_or(|version| row.version == version)
                && (!filter.latest || (!row.retired && seen.insert(row.name.clone())))
        });
        ready(rows.cloned().collect())
    }

    fn instance(&self, id: InstanceId) -> BoxFuture<'_, Option<InstanceRow>> {
        ready(self.tables().instances.get(&id).cloned())
    }

    fn search(&self, search: InstanceSearch) -> BoxFuture<'_, InstanceMatches> {
        ready(self.tables().search(&search))
    }

    fn count_instances(&self) -> BoxFuture<'_, Vec<InstanceCount>> {
        ready(self.tables().count_instances())
    }

    fn count_incidents(&self, limit: usize) -> BoxFuture<'_, Vec<IncidentCount>> {
        ready(self.tables().count_incidents(limit))
    }

    fn children(&self, parent: InstanceId) -> BoxFuture<'_, Vec<ChildRef>> {
        ready(self.tables().children_of(parent))
    }

    fn history(&self, from: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>> {
        let tables = self.tables();
        let mut rows = Vec::new();
        let mut next = from;
        while rows.len() < limit
            && let Some(row) = tables.history.get(&next)
        {
            next = row.previous;
            rows.push(row.clone());
        }
        ready(rows)
    }

    fn history_since(&self, after: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>> {
        let tables = self.tables();
        let rows = tables.history.range(after.saturating_add(1)..).map(|(_, row)| row);
        ready(rows.take(limit).cloned().collect())
    }

    fn task(&self, id: TaskId) -> BoxFuture<'_, Option<TaskRow>> {
        ready(self.tables().tasks.get(&id).cloned())
    }

    fn tasks(&self, filter: TaskFilter, at: Page<TaskId>) -> BoxFuture<'_, Vec<TaskRow>> {
        let tables = self.tables();
        let rows = tables.tasks.iter().map(|(key, row)| (*key, row)).filter(|(_, row)| {
            filter.instance.is_none_or(|instance| row.id.0.instance == instance)
                && filter.kind.is_none_or(|kind| row.spec.kind == kind)
                && filter.state.is_none_or(|state| row.state == state)
        });
        ready(page(rows, at))
    }

    fn timer(&self, key: TimerKey) -> BoxFuture<'_, Option<TimerRow>> {
        ready(self.tables().timers.get(&key).cloned())
    }

    fn timers(&self, filter: TimerFilter, at: Page<TimerKey>) -> BoxFuture<'_, Vec<TimerRow>> {
        let tables = self.tables();
        let rows = tables.timers.iter().map(|(key, row)| (*key, row)).filter(|(_, row)| {
            filter.instance.is_none_or(|instance| row.id.0.instance == instance)
                && (filter.definitions.is_empty() || filter.definitions.contains(&row.definition))
                && filter.due_from.is_none_or(|from| row.due_at >= from)
                && filter.due_before.is_none_or(|before| row.due_at < before)
                && filter.element.as_ref().is_none_or(|element| row.element == *element)
                && !(filter.before_deadline && tables.never_fires(row))
        });
        ready(page(rows, at))
    }

    fn count_timers(&self, query: TimerCount) -> BoxFuture<'_, Vec<(u64, u64)>> {
        let tables = self.tables();
        let mut counts = BTreeMap::new();
        for row in tables.timers.values() {
            let is_wanted = query.definitions.contains(&row.definition) != query.others;
            let is_inside = query.from <= row.due_at && row.due_at < query.to;
            if is_wanted && is_inside && !row.frozen && !tables.never_fires(row) {
                let part = row.due_at.saturating_since(query.from) / query.bucket_ms.max(1);
                *counts.entry(u64::try_from(part).unwrap_or(0)).or_insert(0) += 1;
            }
        }
        ready(counts.into_iter().collect())
    }

    fn incident(&self, id: IncidentId) -> BoxFuture<'_, Option<IncidentRow>> {
        ready(self.tables().incidents.get(&id).cloned())
    }

    fn incidents(
        &self,
        instance: Option<InstanceId>,
        at: Page<IncidentId>,
    ) -> BoxFuture<'_, Vec<IncidentRow>> {
        let tables = self.tables();
        let rows = tables.incidents.iter().map(|(key, row)| (*key, row));
        let rows = rows.filter(|(_, row)| instance.is_none_or(|wanted| row.instance == wanted));
        ready(page(rows, at))
    }

    fn occurrences(
        &self,
        schedule: InstanceId,
        page: Page<OccurrenceKey>,
    ) -> BoxFuture<'_, Vec<OccurrenceRow>> {
        let tables = self.tables();
        let last = page.after.map_or(Bound::Included((schedule, Timestamp::MAX, true)), |after| {
            Bound::Excluded((schedule, after.scheduled_at, after.is_start))
        });
        let first = Bound::Included((schedule, Timestamp::MIN, false));
        let rows = tables.occurrences.range((first, last)).rev();
        ready(rows.take(page.limit).map(|(_, row)| row.clone()).collect())
    }

    fn operations(&self, at: Page<u64>) -> BoxFuture<'_, Vec<OperationRow>> {
        let tables = self.tables();
        ready(page(tables.operations.iter().map(|(key, row)| (*key, row)), at))
    }

    fn purge(&self, request: PurgeRequest) -> BoxFuture<'_, Purged> {
        ready(self.tables().purge(&request))
    }

    fn compact(&self, request: CompactRequest) -> BoxFuture<'_, usize> {
        ready(self.tables().compact(&request))
    }

    fn mark_restored(&self, now: Timestamp, audit: AuditInfo) -> BoxFuture<'_, u32> {
        ready(self.tables().mark_restored(now, audit))
    }

    fn check(&self) -> BoxFuture<'_, Vec<String>> {
        ready(Vec::new())
    }
}
