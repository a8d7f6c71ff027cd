//! The `Store` trait, and how a store reports that it cannot be reached.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, Timestamp};

use super::{
    ChildRef, CompactRequest, DefinitionFilter, DefinitionRow, DueQuery, Error, FetchRequest,
    Fetched, HistoryRow, IncidentCount, IncidentRow, InstanceCount, InstanceFilter,
    InstanceMatches, InstancePosition, InstanceRow, InstanceSearch, Listener, Membership, Notice,
    OccurrenceKey, OccurrenceRow, OperationRow, Page, Partition, Plan, PurgeRequest, Purged,
    Recovered, TaskFilter, TaskRow, TimerCount, TimerFilter, TimerKey, TimerRow, To, UnitResult,
};
use crate::history::AuditInfo;

/// The largest number of instances that one search examines here. A read that examined all of them
/// would prevent SQLite from shortening its log as long as it lasts.
const MAX_EXAMINED: usize = 1_000;

/// The result of a store call.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A change of connectivity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connectivity {
    /// The store became unreachable, for this reason. Calls fail at once until it is restored.
    Lost(String),
    /// The store was connected, perhaps again. A node renews its lease at once.
    Restored,
}

/// Called with every change.
pub type ConnectivityListener = Arc<dyn Fn(Connectivity) + Send + Sync>;

/// A durable store.
pub trait Store: Send + Sync {
    /// Reads what the next turns need. A shared store locks the rows until the commit that gets the
    /// result, or until the result is dropped.
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Fetched>;

    /// Commits a plan in one transaction and returns for each unit whether it took effect.
    fn commit(&self, fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>>;

    /// Whether the commit of a batch took effect, if its answer was lost (I2).
    fn is_committed(&self, batch: u64) -> BoxFuture<'_, bool>;

    /// What a node needs to continue after a stop or a crash, its own or another node's: ready
    /// instances and waiting tasks of its partition.
    fn recover(&self, partition: Partition) -> BoxFuture<'_, Recovered>;

    /// The earliest timers that can fire, in due order.
    fn due_timers(&self, query: DueQuery) -> BoxFuture<'_, Vec<TimerRow>>;

    /// Whether several nodes may use the store at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// A heartbeat of this node: acquires or renews its lease and returns the membership. A node
    /// that lost its lease gets a new one; until then its commits are rejected.
    fn renew_lease(&self, _real: Timestamp) -> BoxFuture<'_, Membership> {
        Box::pin(std::future::ready(Ok(Membership::alone())))
    }

    /// Gives up the lease, so that others need not wait for its expiry.
    fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Sends notices to other nodes, after a commit. A lost notice delays something, and never
    /// makes it wrong.
    fn notify(&self, _notices: Vec<(To, Notice)>) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Sets the receiver of notices from other nodes.
    fn listen(&self, _listener: Listener) {}

    /// Whether the store can be reached and used now. It answers soon in either case. It runs only
    /// on request, so that an idle node does nothing (I12).
    fn ping(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Sets the receiver of changes of connectivity.
    fn watch_connectivity(&self, _listener: ConnectivityListener) {}

    /// A definition, with its source.
    fn definition(&self, id: DefinitionId) -> BoxFuture<'_, Option<DefinitionRow>>;

    /// Definitions by name, latest version first.
    fn definitions(&self, filter: DefinitionFilter) -> BoxFuture<'_, Vec<DefinitionRow>>;

    /// One instance.
    fn instance(&self, id: InstanceId) -> BoxFuture<'_, Option<InstanceRow>>;

    /// Examines a bounded number of instances in an order and returns those that match.
    fn search(&self, search: InstanceSearch) -> BoxFuture<'_, InstanceMatches>;

    /// Instances, newest first, however many must be examined.
    fn instances(
        &self,
        filter: InstanceFilter,
        page: Page<InstanceId>,
    ) -> BoxFuture<'_, Vec<InstanceRow>> {
        Box::pin(async move {
            let mut search = InstanceSearch {
                filter,
                descending: true,
                after: page.after.map(InstancePosition::Start),
                limit: page.limit,
                examine: page.limit.clamp(1, MAX_EXAMINED),
                ..InstanceSearch::default()
            };
            let mut rows = Vec::new();
            while search.limit > 0 {
                let matches = self.search(search.clone()).await?;
                rows.extend(matches.found.into_iter().map(|(_, row)| row));
                let Some(next) = matches.next else { break };
                search.after = Some(next);
                search.limit = page.limit.saturating_sub(rows.len());
                search.examine = MAX_EXAMINED;
            }
            Ok(rows)
        })
    }

    /// The number of instances by definition and status, without zeros, in order. It is maintained
    /// by every commit, so it is exact and costs the same however many instances there are.
    fn count_instances(&self) -> BoxFuture<'_, Vec<InstanceCount>>;

    /// The codes of open incidents by definition, in order, counted over at most so many of the
    /// oldest.
    fn count_incidents(&self, limit: usize) -> BoxFuture<'_, Vec<IncidentCount>>;

    /// Live children of an instance.
    fn children(&self, parent: InstanceId) -> BoxFuture<'_, Vec<ChildRef>>;

    /// The history of an instance, newest turn first, from a row on.
    fn history(&self, from: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>>;

    /// The history of all instances after a number, oldest first. Rows become visible in the order
    /// of their numbers, so a reader that has seen one has missed none before it.
    fn history_since(&self, after: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>>;

    /// One task.
    fn task(&self, id: TaskId) -> BoxFuture<'_, Option<TaskRow>>;

    /// Tasks in the order of their ids.
    fn tasks(&self, filter: TaskFilter, page: Page<TaskId>) -> BoxFuture<'_, Vec<TaskRow>>;

    /// One armed timer, by its key.
    fn timer(&self, key: TimerKey) -> BoxFuture<'_, Option<TimerRow>>;

    /// Armed timers in due order, frozen ones last.
    fn timers(&self, filter: TimerFilter, page: Page<TimerKey>) -> BoxFuture<'_, Vec<TimerRow>>;

    /// How many timers will fire in each part of a window: the indexes of the parts that are not
    /// empty, in order, with their counts.
    fn count_timers(&self, query: TimerCount) -> BoxFuture<'_, Vec<(u64, u64)>>;

    /// One open incident.
    fn incident(&self, id: IncidentId) -> BoxFuture<'_, Option<IncidentRow>>;

    /// Open incidents, oldest first.
    fn incidents(
        &self,
        instance: Option<InstanceId>,
        page: Page<IncidentId>,
    ) -> BoxFuture<'_, Vec<IncidentRow>>;

    /// The ledger of a schedule, newest occurrence first.
    fn occurrences(
        &self,
        schedule: InstanceId,
        page: Page<OccurrenceKey>,
    ) -> BoxFuture<'_, Vec<OccurrenceRow>>;

    /// Operations on the store as a whole, oldest first.
    fn operations(&self, page: Page<u64>) -> BoxFuture<'_, Vec<OperationRow>>;

    /// Deletes some expired data and returns when to call again. Live instances are never touched.
    /// There must be only one caller at a time.
    fn purge(&self, request: PurgeRequest) -> BoxFuture<'_, Purged>;

    /// Compacts the history of an instance and returns how many rows were removed. The first row,
    /// the newest rows and those about open timers stay; one row summarises the others.
    fn compact(&self, request: CompactRequest) -> BoxFuture<'_, usize>;

    /// Marks the store as restored: it gets a new epoch, which is returned, and is paused. Only for
    /// a store on which no kernel runs.
    fn mark_restored(&self, now: Timestamp, audit: AuditInfo) -> BoxFuture<'_, u32>;

    /// Checks for damage without writing; every problem is a line of text.
    fn check(&self) -> BoxFuture<'_, Vec<String>>;
}
