//! The trait itself.

use std::future::Future;
use std::pin::Pin;

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, Timestamp};

use super::{
    ChildRef, CompactRequest, ConnectivityListener, DefinitionFilter, DefinitionRow, DueQuery,
    Error, HistoryRow, IncidentRow, InstanceFilter, InstanceRow, Listener, Membership, Notice,
    OccurrenceKey, OccurrenceRow, OperationRow, Page, Plan, PurgeRequest, Purged, Recovered, Share,
    TakeRequest, Taken, TaskFilter, TaskRow, TimerCount, TimerFilter, TimerKey, TimerRow, To,
    UnitResult,
};
use crate::history::By;

/// What a store call resolves to.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A durable store.
pub trait Store: Send + Sync {
    /// Reads what the next turns need. A store that is shared between nodes locks it until the
    /// commit that gets the result, or until the result is dropped.
    fn take(&self, request: TakeRequest) -> Pending<'_, Taken>;

    /// Commits a plan in one transaction and says for each unit whether it took effect.
    fn commit(&self, taken: Taken, plan: Plan) -> Pending<'_, Vec<UnitResult>>;

    /// Whether the commit of a batch took effect, after an answer that left it open (I2).
    fn is_committed(&self, batch: u64) -> Pending<'_, bool>;

    /// What a node needs to go on after a stop or a crash, its own or another node's: ready
    /// instances and waiting tasks of its share.
    fn recover(&self, share: Share) -> Pending<'_, Recovered>;

    /// The earliest timers that can fire, in due order.
    fn due_timers(&self, query: DueQuery) -> Pending<'_, Vec<TimerRow>>;

    /// Whether several nodes may use the store at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// A heartbeat of this node: takes a lease or keeps it, and says who else is there. A node
    /// that lost its lease gets a new one; until then its commits are refused.
    fn renew_lease(&self, _real: Timestamp) -> Pending<'_, Membership> {
        Box::pin(std::future::ready(Ok(Membership::alone())))
    }

    /// Gives the lease up, so that others need not wait until it is cold.
    fn leave(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Tells other nodes something, after a commit. What gets lost makes things late, not wrong.
    fn tell(&self, _notices: Vec<(To, Notice)>) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Who hears what other nodes tell.
    fn listen(&self, _listener: Listener) {}

    /// Whether the store can be reached and used right now. Answers soon in either case, and does
    /// nothing that was not asked for (I12).
    fn ping(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Who is told when the store goes out of reach and when it is found again.
    fn watch_connectivity(&self, _listener: ConnectivityListener) {}

    /// A definition, with its source.
    fn definition(&self, id: DefinitionId) -> Pending<'_, Option<DefinitionRow>>;

    /// Definitions by name, latest version first.
    fn definitions(&self, filter: DefinitionFilter) -> Pending<'_, Vec<DefinitionRow>>;

    /// One instance.
    fn instance(&self, id: InstanceId) -> Pending<'_, Option<InstanceRow>>;

    /// Instances, newest first.
    fn instances(
        &self,
        filter: InstanceFilter,
        page: Page<InstanceId>,
    ) -> Pending<'_, Vec<InstanceRow>>;

    /// Live children of an instance.
    fn children(&self, parent: InstanceId) -> Pending<'_, Vec<ChildRef>>;

    /// The history of an instance, newest turn first, from a row on.
    fn history(&self, from: u64, limit: usize) -> Pending<'_, Vec<HistoryRow>>;

    /// What happened to all instances after a place in the history, oldest first. Rows become
    /// visible in the order of their numbers, so whoever has seen one has missed none before it.
    fn history_since(&self, after: u64, limit: usize) -> Pending<'_, Vec<HistoryRow>>;

    /// One task.
    fn task(&self, id: TaskId) -> Pending<'_, Option<TaskRow>>;

    /// Tasks in the order of their ids.
    fn tasks(&self, filter: TaskFilter, page: Page<TaskId>) -> Pending<'_, Vec<TaskRow>>;

    /// One armed timer, by its key.
    fn timer(&self, key: TimerKey) -> Pending<'_, Option<TimerRow>>;

    /// Armed timers in due order, frozen ones last.
    fn timers(&self, filter: TimerFilter, page: Page<TimerKey>) -> Pending<'_, Vec<TimerRow>>;

    /// How many timers will fire in each part of a window: numbers of parts that are not empty,
    /// in order, and how many.
    fn count_timers(&self, query: TimerCount) -> Pending<'_, Vec<(u64, u64)>>;

    /// One open incident.
    fn incident(&self, id: IncidentId) -> Pending<'_, Option<IncidentRow>>;

    /// Open incidents, oldest first.
    fn incidents(
        &self,
        instance: Option<InstanceId>,
        page: Page<IncidentId>,
    ) -> Pending<'_, Vec<IncidentRow>>;

    /// The ledger of a schedule, newest slot first.
    fn occurrences(
        &self,
        schedule: InstanceId,
        page: Page<OccurrenceKey>,
    ) -> Pending<'_, Vec<OccurrenceRow>>;

    /// What was done to the store as a whole, oldest first.
    fn operations(&self, page: Page<u64>) -> Pending<'_, Vec<OperationRow>>;

    /// Removes some of what is over and old enough, and says when to ask again. Live instances
    /// are never touched. Meant to be called by one caller at a time.
    fn purge(&self, request: PurgeRequest) -> Pending<'_, Purged>;

    /// Cuts the history of an instance short and says how many rows it lost. The first row, the
    /// newest ones and those about open timers stay; one row stands for the others.
    fn compact(&self, request: CompactRequest) -> Pending<'_, usize>;

    /// Marks the store as a restored copy: it gets a new epoch, which it returns, and is paused.
    /// Only for a store on which no kernel runs.
    fn mark_restored(&self, now: Timestamp, by: By) -> Pending<'_, u32>;

    /// Looks for damage. Nothing is written; every problem is a line of text.
    fn check(&self) -> Pending<'_, Vec<String>>;
}
