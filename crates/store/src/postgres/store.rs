//! The `Store` trait on PostgreSQL.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, Timestamp};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{
    BoxFuture, ChildRef, CompactRequest, ConnectivityListener, DefinitionFilter, DefinitionRow,
    DueQuery, Error, FetchRequest, Fetched, HistoryRow, IncidentCount, IncidentRow, InstanceCount,
    InstanceMatches, InstanceRow, InstanceSearch, Listener, Membership, Notice, OccurrenceKey,
    OccurrenceRow, OperationKind, OperationRow, Page, Partition, Plan, PurgeRequest, Purged,
    Recovered, Store, TaskFilter, TaskRow, TimerCount, TimerFilter, TimerKey, TimerRow, To,
    UnitResult,
};
use tokio::runtime::{Builder, Runtime};

use super::core::Core;
use super::fetch::{self, Hold};
use super::options::Options;
use super::stats::Stats;
use super::{
    definition, examine, history, incident, instance, instance_count, instance_list, node,
    node_lease, occurrence, operation, task, timer,
};

/// A store in a PostgreSQL database, as one process sees it.
///
/// It has its own thread and reactor, so it can be used from any executor. Dropping it closes its
/// connections; uncommitted work is rolled back.
pub struct PostgresStore {
    core: Arc<Core>,
    runtime: Option<Runtime>,
    /// Whether an engine has used this store and not closed it. What an earlier process did is not
    /// known.
    was_cut_off: AtomicBool,
}

impl PostgresStore {
    /// Opens a store, bringing its schema up to date as needed.
    pub async fn open(options: Options) -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("meantime-postgres")
            .enable_all()
            .build()
            .map_err(|error| Error::Unavailable(error.to_string()))?;
        let handle = runtime.handle().clone();
        let opening = runtime.spawn(Core::open(options, handle));
        // If opening fails or is dropped, the runtime must not wait for its threads.
        let mut opened = Self::opening(runtime);
        let core = opening.await.map_err(|_| closed())??;
        let runtime = opened.0.take();
        Ok(Self { core: Arc::new(core), runtime, was_cut_off: AtomicBool::new(false) })
    }

    fn opening(runtime: Runtime) -> Background {
        Background(Some(runtime))
    }

    /// Checks for damage in a database that nodes may be using. Nothing is written; every problem
    /// is a line of text, and `None` means that the database contains no store. Calls `visit` with
    /// every live instance that can be read and its definition. Needs a tokio runtime.
    pub async fn examine(
        options: &Options,
        visit: &mut (dyn FnMut(&DefinitionRow, &InstanceRow) + Send),
    ) -> Result<Option<Vec<String>>, Error> {
        examine::examine(options, visit).await
    }

    /// What the store has done since it was opened.
    pub fn stats(&self) -> Stats {
        self.core.counters.read()
    }

    /// Runs work on the store's own thread; it continues even if the caller drops the future.
    fn call<T: Send + 'static, F>(&self, work: impl FnOnce(Arc<Core>) -> F) -> BoxFuture<'_, T>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let Some(runtime) = &self.runtime else {
            return Box::pin(std::future::ready(Err(closed())));
        };
        let task = runtime.spawn(work(Arc::clone(&self.core)));
        Box::pin(async move { task.await.unwrap_or_else(|_| Err(closed())) })
    }
}

fn closed() -> Error {
    Error::Unavailable("the store is closed".to_owned())
}

/// A runtime that can be dropped in any context.
struct Background(Option<Runtime>);

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        drop(Background(self.runtime.take()));
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("options", &self.core.options).finish_non_exhaustive()
    }
}

impl Store for PostgresStore {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Fetched> {
        self.call(|core| async move { fetch::fetch(&core.writers, &request).await })
    }

    fn commit(&self, fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        let hold = Hold::of(fetched);
        // Before any await: the number of the plan has just been assigned, and plans with larger
        // numbers may follow and be committed first.
        let under_way = self.core.committer.feed.begin(&plan);
        self.call(|core| async move { core.committer.commit(hold, &plan, under_way).await })
    }

    fn is_committed(&self, batch: u64) -> BoxFuture<'_, bool> {
        self.call(move |core| async move {
            let it = core.writers.acquire().await?;
            Ok(core.committer.commit_rows.is_committed(&it, batch).await?)
        })
    }

    fn recover(&self, partition: Partition) -> BoxFuture<'_, Recovered> {
        let is_again = self.was_cut_off.swap(true, Ordering::SeqCst);
        let was_cut_off = is_again && !self.is_shared();
        self.call(move |core| async move {
            Ok(Recovered { was_cut_off, ..core.recover(partition).await? })
        })
    }

    fn due_timers(&self, query: DueQuery) -> BoxFuture<'_, Vec<TimerRow>> {
        self.call(move |core| async move {
            let it = core.direct.acquire().await?;
            Ok(timer::due(&it, query).await?)
        })
    }

    fn is_shared(&self) -> bool {
        self.core.options.shared
    }

    fn renew_lease(&self, real: Timestamp) -> BoxFuture<'_, Membership> {
        if !self.is_shared() {
            return Box::pin(std::future::ready(Ok(Membership::alone())));
        }
        self.call(move |core| async move {
            let membership = node_lease::renew_lease(&core, real).await?;
            core.notifier
                .acquire(Some(membership.node_index), core.committer.commit_rows.lease_term());
            Ok(membership)
        })
    }

    fn leave(&self) -> BoxFuture<'_, ()> {
        if !self.is_shared() {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.call(|core| async move {
            core.notifier.acquire(None, None);
            node_lease::leave(&core.writers, &core.committer.commit_rows).await
        })
    }

    fn notify(&self, notices: Vec<(To, Notice)>) -> BoxFuture<'_, ()> {
        self.call(|core| async move { core.notifier.notify(&core.direct, &notices).await })
    }

    fn listen(&self, listener: Listener) {
        if self.is_shared() {
            self.core.notifier.set_listener(listener);
        }
    }

    fn ping(&self) -> BoxFuture<'_, ()> {
        self.call(|core| async move { core.monitor.ping().await })
    }

    fn watch_connectivity(&self, listener: ConnectivityListener) {
        self.core.monitor.watch_connectivity(listener);
    }

    fn definition(&self, id: DefinitionId) -> BoxFuture<'_, Option<DefinitionRow>> {
        self.call(move |core| async move {
            let it = core.direct.acquire().await?;
            Ok(definition::get(&it, id).await?)
        })
    }

    fn definitions(&self, filter: DefinitionFilter) -> BoxFuture<'_, Vec<DefinitionRow>> {
        self.call(|core| async move {
            let it = core.readers.acquire().await?;
            Ok(definition::list(&it, &filter).await?)
        })
    }

    fn instance(&self, id: InstanceId) -> BoxFuture<'_, Option<InstanceRow>> {
        self.call(move |core| async move {
            let it = core.direct.acquire().await?;
            Ok(instance::get_lenient(&it, id).await?)
        })
    }

    fn search(&self, search: InstanceSearch) -> BoxFuture<'_, InstanceMatches> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(instance_list::search(&it, &search).await?)
        })
    }

    fn count_instances(&self) -> BoxFuture<'_, Vec<InstanceCount>> {
        self.call(|core| async move {
            let it = core.readers.acquire().await?;
            Ok(instance_count::list(&it).await?)
        })
    }

    fn count_incidents(&self, limit: usize) -> BoxFuture<'_, Vec<IncidentCount>> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(instance_list::count_incidents(&it, limit).await?)
        })
    }

    fn children(&self, parent: InstanceId) -> BoxFuture<'_, Vec<ChildRef>> {
        self.call(move |core| async move {
            let it = core.direct.acquire().await?;
            Ok(instance::children_of(&it, parent).await?)
        })
    }

    fn history(&self, from: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(history::chain(&it, from, limit).await?)
        })
    }

    fn history_since(&self, after: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>> {
        self.call(move |core| async move { core.history_since(after, limit).await })
    }

    fn task(&self, id: TaskId) -> BoxFuture<'_, Option<TaskRow>> {
        self.call(move |core| async move {
            let it = core.direct.acquire().await?;
            Ok(task::one(&it, id).await?)
        })
    }

    fn tasks(&self, filter: TaskFilter, page: Page<TaskId>) -> BoxFuture<'_, Vec<TaskRow>> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(task::list(&it, &filter, page).await?)
        })
    }

    fn timer(&self, key: TimerKey) -> BoxFuture<'_, Option<TimerRow>> {
        self.call(move |core| async move {
            let it = core.direct.acquire().await?;
            let rows = timer::get(&it, &[key]).await?;
            Ok(rows.into_iter().next())
        })
    }

    fn timers(&self, filter: TimerFilter, page: Page<TimerKey>) -> BoxFuture<'_, Vec<TimerRow>> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(timer::list(&it, &filter, page).await?)
        })
    }

    fn count_timers(&self, query: TimerCount) -> BoxFuture<'_, Vec<(u64, u64)>> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(timer::count(&it, &query).await?)
        })
    }

    fn incident(&self, id: IncidentId) -> BoxFuture<'_, Option<IncidentRow>> {
        self.call(move |core| async move {
            let it = core.direct.acquire().await?;
            Ok(incident::one(&it, id).await?)
        })
    }

    fn incidents(
        &self,
        instance: Option<InstanceId>,
        page: Page<IncidentId>,
    ) -> BoxFuture<'_, Vec<IncidentRow>> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(incident::list(&it, instance, page).await?)
        })
    }

    fn occurrences(
        &self,
        schedule: InstanceId,
        page: Page<OccurrenceKey>,
    ) -> BoxFuture<'_, Vec<OccurrenceRow>> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(occurrence::list(&it, schedule, page).await?)
        })
    }

    fn operations(&self, page: Page<u64>) -> BoxFuture<'_, Vec<OperationRow>> {
        self.call(move |core| async move {
            let it = core.readers.acquire().await?;
            Ok(operation::list(&it, page).await?)
        })
    }

    fn purge(&self, request: PurgeRequest) -> BoxFuture<'_, Purged> {
        self.call(|core| async move { core.purge(&request).await })
    }

    fn compact(&self, request: CompactRequest) -> BoxFuture<'_, usize> {
        self.call(move |core| async move { core.compact(&request).await })
    }

    fn mark_restored(&self, now: Timestamp, audit: AuditInfo) -> BoxFuture<'_, u32> {
        self.call(move |core| async move {
            node::pause(&core.writers, OperationKind::Restored, now, &audit).await
        })
    }

    fn check(&self) -> BoxFuture<'_, Vec<String>> {
        self.call(|core| async move { core.check().await })
    }
}
