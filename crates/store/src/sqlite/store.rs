//! The `Store` trait on SQLite.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, Timestamp};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{
    BoxFuture, ChildRef, CompactRequest, DefinitionFilter, DefinitionRow, DueQuery, Error,
    FetchRequest, Fetched, FetchedInstance, HistoryRow, IncidentCount, IncidentRow, InstanceCount,
    InstanceMatches, InstanceRow, InstanceSearch, OccurrenceKey, OccurrenceRow, OperationKind,
    OperationRow, Page, Partition, Plan, PurgeRequest, Purged, Recovered, Store, TaskFilter,
    TaskRow, TimerCount, TimerFilter, TimerKey, TimerRow, UnitResult, Wanted,
};
use tokio::sync::oneshot;

use super::backup::{self, Progress, Restored};
use super::db::Db;
use super::identity::{Identity, Ownership, beside};
use super::options::Options;
use super::readers::Readers;
use super::stats::{SqliteCounters, Stats};
use super::writer::WriterThread;
use super::{
    check, checkpoint, claim, compact, definition, history, identity, inbox, incident, instance,
    instance_count, instance_list, node, occurrence, open, operation, purge, sweep, task, timer,
    wal_check,
};
use crate::sweep::Sweep;

/// A store in one SQLite file, owned by this process while the value exists.
pub struct SqliteStore {
    // Dropped in this order: the writer is the last to close the file and checkpoints its log.
    readers: Readers,
    writer: WriterThread,
    counters: Arc<SqliteCounters>,
    path: PathBuf,
    options: Options,
    sweep: Mutex<Sweep>,
    identity: Arc<Identity>,
    /// Whether an engine has used this store and not closed it: the process that had the file
    /// before left a log behind, or there was a recovery since.
    was_cut_off: AtomicBool,
    _ownership: Ownership,
}

impl SqliteStore {
    /// Opens a store; creates the file and migrates its schema if needed.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let (ownership, identity) = identity::own(&path)?;
        let identity = Arc::new(identity);
        let wal = wal_check::inspect(&beside(&path, "-wal"))?;
        wal.accept(&options)?;
        let connection = open::writer(&path, &options)?;
        if wal.has_tail {
            // The remains of one power loss must not look like damage after the next one.
            checkpoint::reset_wal(&connection)?;
        }
        let counters = Arc::new(SqliteCounters::default());
        let readers = Readers::open(&path, &options)?;
        let writer = WriterThread::start(&path, &options, connection, &counters, &identity)?;
        Ok(Self {
            readers,
            writer,
            counters,
            path,
            options,
            sweep: Mutex::default(),
            identity,
            was_cut_off: AtomicBool::new(wal.valid_frames > 0 || wal.has_tail),
            _ownership: ownership,
        })
    }

    /// What the writer has done since the store was opened.
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Whether writing has failed for good: a sync failed, or the answer of a commit was lost. All
    /// further commits are rejected; the process should end and recover from the file.
    pub fn has_failed(&self) -> bool {
        self.counters.has_failed()
    }

    /// Sets the largest size of the file; `None` means as large as the disk allows.
    pub fn set_max_size(&self, bytes: Option<u64>) -> BoxFuture<'_, ()> {
        let answer = self.writer.set_max_size(bytes);
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone())) })
    }

    /// Backs up the store to a new file while it is in use, on its own thread. The backup is one
    /// consistent state with everything that was answered before. It is paused: it must be resumed,
    /// like a file that [`Self::restore`] creates from it.
    pub fn backup(
        &self,
        to: impl AsRef<Path>,
        now: Timestamp,
        mut progress: impl FnMut(Progress) + Send + 'static,
    ) -> BoxFuture<'_, Progress> {
        let (sender, answer) = oneshot::channel();
        let (path, to) = (self.path.clone(), to.as_ref().to_owned());
        let (options, counters) = (self.options.clone(), Arc::clone(&self.counters));
        let work = move || {
            counters.backups.fetch_add(1, Ordering::SeqCst);
            let done = backup::backup(&path, &to, &options, now, &mut progress);
            checkpoint::after_long_read(&path, &options, &counters);
            counters.backups.fetch_sub(1, Ordering::SeqCst);
            drop(sender.send(done));
        };
        let started = std::thread::Builder::new().name("meantime-backup".to_owned()).spawn(work);
        Box::pin(async move {
            started.map_err(|error| Error::Unavailable(error.to_string()))?;
            answer.await.unwrap_or_else(|_| Err(Error::Bug("the backup ended early".to_owned())))
        })
    }

    /// Backs up a store that another process may be using, like [`Self::backup`].
    pub fn backup_of(
        path: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: &Options,
        now: Timestamp,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Progress, Error> {
        backup::backup(path.as_ref(), to.as_ref(), options, now, progress)
    }

    /// Checks for damage in a store that another process may be using. Nothing is written; every
    /// problem is a line of text.
    pub fn check_of(path: impl AsRef<Path>, options: &Options) -> Result<Vec<String>, Error> {
        check::check(path.as_ref(), options)
    }

    /// Calls `visit` with every live instance and its definition. Another process may be using the
    /// store.
    pub fn visit_live_of(
        path: impl AsRef<Path>,
        options: &Options,
        visit: &mut dyn FnMut(&DefinitionRow, &InstanceRow),
    ) -> Result<(), Error> {
        check::visit_live(path.as_ref(), options, visit)
    }

    /// Creates a new file from a backup. The kernel that opens it is paused until it is resumed,
    /// and has a new epoch, so that tokens of the former process are stale (I5).
    pub fn restore(
        copy: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: &Options,
        now: Timestamp,
        audit: &AuditInfo,
    ) -> Result<Restored, Error> {
        backup::restore(copy.as_ref(), to.as_ref(), options, now, audit)
    }

    /// Finds expired instances, on a reader, and takes the scan out while the writer deletes them.
    fn sweep(&self, request: &PurgeRequest) -> Result<Sweep, Error> {
        let mut sweep = std::mem::take(&mut *self.sweep_state());
        // If this fails, or the caller drops the future, the scan starts again from the beginning:
        // only time is lost.
        self.readers.read(|db| sweep::find_expired(db, &mut sweep, request))?;
        Ok(sweep)
    }

    fn sweep_state(&self) -> MutexGuard<'_, Sweep> {
        // If a panic interrupted the scan, it only starts again.
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Db<'_>) -> Result<T, Error>,
    ) -> BoxFuture<'_, T> {
        Box::pin(std::future::ready(self.readers.read(read)))
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

fn gone() -> Error {
    Error::Bug("the writer thread has ended".to_owned())
}

fn fetch(db: &Db<'_>, request: &FetchRequest) -> Result<Fetched, Error> {
    let mut damaged_tasks = Vec::new();
    let limit = |wanted: &Wanted| if wanted.inbox { request.inbox_limit } else { 0 };
    let instances = request.instances.iter().map(|it| fetch_instance(db, *it, limit(it)));
    let instances = instances.collect::<Result<_, Error>>()?;
    let tasks = request.tasks.iter().map(|id| task::get_lenient(db, *id, &mut damaged_tasks));
    let tasks = tasks.collect::<Result<_, Error>>()?;
    let claims = request.claims.iter();
    let claims = claims.map(|query| claim::ready(db, query, request.now, &mut damaged_tasks));
    let claims = claims.collect::<Result<_, Error>>()?;
    let incidents = request.incidents.iter().map(|id| incident::get(db, *id));
    let incidents = incidents.collect::<Result<_, Error>>()?;
    Ok(Fetched { instances, tasks, claims, incidents, damaged_tasks, hold: None })
}

/// Reads one instance with the head of its inbox. Damage is reported for this instance only.
fn fetch_instance(db: &Db<'_>, wanted: Wanted, limit: usize) -> Result<FetchedInstance, Error> {
    let mut row = if wanted.row { instance::get_lenient(db, wanted.id)? } else { None };
    let mut damage = row.as_mut().and_then(|row| row.meta.damaged.take());
    let inbox = match inbox::head(db, wanted.id, limit) {
        Err(error @ Error::DamagedRow(_)) => {
            damage.get_or_insert(error.to_string());
            Vec::new()
        }
        read => read?,
    };
    Ok(FetchedInstance { row, inbox, busy: false, damage })
}

impl Store for SqliteStore {
    fn ping(&self) -> BoxFuture<'_, ()> {
        let failed = || Error::Failed("writing to the disk failed".to_owned());
        let usable = if self.has_failed() { Err(failed()) } else { self.identity.check() };
        Box::pin(std::future::ready(usable))
    }

    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Fetched> {
        self.read(|db| fetch(db, &request))
    }

    fn commit(&self, _fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        let answer = self.writer.commit(plan);
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone())) })
    }

    fn is_committed(&self, batch: u64) -> BoxFuture<'_, bool> {
        self.read(|db| Ok(node::last_batch(db)? >= batch))
    }

    fn recover(&self, _share: Partition) -> BoxFuture<'_, Recovered> {
        let was_cut_off = self.was_cut_off.swap(true, Ordering::SeqCst);
        self.read(move |db| Ok(Recovered { was_cut_off, ..node::recover(db)? }))
    }

    // One process owns the file: its partition is everything.
    fn due_timers(&self, query: DueQuery) -> BoxFuture<'_, Vec<TimerRow>> {
        self.read(|db| timer::due(db, query.after, query.limit))
    }

    fn definition(&self, id: DefinitionId) -> BoxFuture<'_, Option<DefinitionRow>> {
        self.read(|db| definition::get(db, id))
    }

    fn definitions(&self, filter: DefinitionFilter) -> BoxFuture<'_, Vec<DefinitionRow>> {
        self.readers.list(move |db| definition::list(db, &filter))
    }

    fn instance(&self, id: InstanceId) -> BoxFuture<'_, Option<InstanceRow>> {
        self.read(|db| instance::get_lenient(db, id))
    }

    fn search(&self, search: InstanceSearch) -> BoxFuture<'_, InstanceMatches> {
        self.readers.list(move |db| instance_list::search(db, &search))
    }

    fn count_instances(&self) -> BoxFuture<'_, Vec<InstanceCount>> {
        self.readers.list(instance_count::list)
    }

    fn count_incidents(&self, limit: usize) -> BoxFuture<'_, Vec<IncidentCount>> {
        self.readers.list(move |db| instance_list::count_incidents(db, limit))
    }

    fn children(&self, parent: InstanceId) -> BoxFuture<'_, Vec<ChildRef>> {
        self.readers.list(move |db| instance::children(db, parent))
    }

    fn history(&self, from: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>> {
        self.readers.list(move |db| history::chain(db, from, limit))
    }

    fn history_since(&self, after: u64, limit: usize) -> BoxFuture<'_, Vec<HistoryRow>> {
        self.readers.list(move |db| history::since(db, after, limit))
    }

    fn task(&self, id: TaskId) -> BoxFuture<'_, Option<TaskRow>> {
        self.read(|db| task::get(db, id))
    }

    fn tasks(&self, filter: TaskFilter, page: Page<TaskId>) -> BoxFuture<'_, Vec<TaskRow>> {
        self.readers.list(move |db| task::list(db, &filter, page))
    }

    fn timer(&self, key: TimerKey) -> BoxFuture<'_, Option<TimerRow>> {
        self.read(|db| timer::get(db, key))
    }

    fn timers(&self, filter: TimerFilter, page: Page<TimerKey>) -> BoxFuture<'_, Vec<TimerRow>> {
        self.readers.list(move |db| timer::list(db, &filter, page))
    }

    fn count_timers(&self, query: TimerCount) -> BoxFuture<'_, Vec<(u64, u64)>> {
        self.readers.list(move |db| timer::count(db, &query))
    }

    fn incident(&self, id: IncidentId) -> BoxFuture<'_, Option<IncidentRow>> {
        self.read(|db| incident::get(db, id))
    }

    fn incidents(
        &self,
        instance: Option<InstanceId>,
        page: Page<IncidentId>,
    ) -> BoxFuture<'_, Vec<IncidentRow>> {
        self.readers.list(move |db| incident::list(db, instance, page))
    }

    fn occurrences(
        &self,
        schedule: InstanceId,
        page: Page<OccurrenceKey>,
    ) -> BoxFuture<'_, Vec<OccurrenceRow>> {
        self.readers.list(move |db| occurrence::list(db, schedule, page))
    }

    fn operations(&self, page: Page<u64>) -> BoxFuture<'_, Vec<OperationRow>> {
        self.readers.list(move |db| operation::list(db, page))
    }

    fn purge(&self, request: PurgeRequest) -> BoxFuture<'_, Purged> {
        Box::pin(async move {
            let mut sweep = self.sweep(&request)?;
            let doomed: Vec<i64> = sweep.doomed.iter().take(request.limit).copied().collect();
            let (retention, limit) = (request.retention.clone(), request.limit);
            let now = request.now;
            let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
            let mut purged = Purged::default();
            if !doomed.is_empty() || is_due(self.readers.read(|db| purge::next(db, &retention))?) {
                let write = move |db: &Db<'_>| purge::purge(db, &doomed, &retention, now, limit);
                let answer = self.writer.transact(write).await;
                let (gone, removed) = answer.unwrap_or_else(|_| Err(gone()))?;
                sweep.doomed.drain(..gone);
                purged = removed;
            }
            purged.next = self.readers.read(|db| {
                let instances = sweep::next(db, &sweep, &request)?;
                Ok(instances.into_iter().chain(purge::next(db, &request.retention)?).min())
            })?;
            *self.sweep_state() = sweep;
            Ok(purged)
        })
    }

    fn compact(&self, request: CompactRequest) -> BoxFuture<'_, usize> {
        Box::pin(async move {
            let mut cut = self.readers.read(|db| compact::find(db, &request))?;
            let mut count = 0;
            while let Some(next) = cut {
                let CompactRequest { instance, limit, .. } = request;
                let write = move |db: &Db<'_>| compact::step(db, instance, next, limit);
                let answer = self.writer.transact(write).await;
                let (dropped, left) = answer.unwrap_or_else(|_| Err(gone()))?;
                count += dropped;
                cut = left;
            }
            Ok(count)
        })
    }

    fn mark_restored(&self, now: Timestamp, audit: AuditInfo) -> BoxFuture<'_, u32> {
        let mark = move |db: &Db<'_>| node::pause(db, OperationKind::Restored, now, &audit);
        let answer = self.writer.transact(mark);
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone())) })
    }

    /// Reads the whole file, so it runs on its own thread and connection.
    fn check(&self) -> BoxFuture<'_, Vec<String>> {
        let (sender, answer) = oneshot::channel();
        let (path, options) = (self.path.clone(), self.options.clone());
        let work = move || drop(sender.send(check::check(&path, &options)));
        let started = std::thread::Builder::new().name("meantime-check".to_owned()).spawn(work);
        Box::pin(async move {
            started.map_err(|error| Error::Unavailable(error.to_string()))?;
            answer.await.unwrap_or_else(|_| Err(Error::Bug("the check ended early".to_owned())))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use meantime_kernel::store::{Fence, Phase, Unit};

    use super::*;
    use crate::conformance::block_on;

    fn start(number: u64) -> Unit {
        let row = InstanceRow::accepted(
            InstanceId::new(number, 1),
            DefinitionId(1),
            Timestamp::from_millis(5_000),
        );
        let row = InstanceRow { turn_no: 1, phase: Phase::Running, ..row };
        Unit { fence: Fence::Insert(Arc::new(row)), ..Unit::default() }
    }

    /// What the kernel does in a turn reads on the caller's thread, whatever lists do.
    #[test]
    fn lists_that_do_not_end_delay_no_turn() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let options = Options::default();
        let threads = options.readers;
        let store = SqliteStore::open(&path, options).unwrap();
        let (begun, begins) = mpsc::channel();
        let (gates, lists): (Vec<_>, Vec<_>) = (0..threads * 2)
            .map(|_| {
                let (gate, opens) = mpsc::channel::<()>();
                let begun = begun.clone();
                let list = store.readers.list(move |_| {
                    begun.send(()).unwrap();
                    // Ends when the gate is dropped.
                    let _ = opens.recv();
                    Ok(())
                });
                (gate, list)
            })
            .unzip();
        for _ in 0..threads {
            begins.recv().unwrap();
        }
        assert!(begins.try_recv().is_err(), "every thread is held, and other lists wait");
        for number in 1..=3 {
            let id = InstanceId::new(number, 1);
            let wanted = Wanted { id, row: true, inbox: true };
            let request = FetchRequest { instances: vec![wanted], ..FetchRequest::default() };
            let fetched = block_on(store.fetch(request)).unwrap();
            let now = Timestamp::from_millis(5_000);
            let plan = Plan { batch: number, now, units: vec![start(number)], lease_term: None };
            let results = block_on(store.commit(fetched, plan)).unwrap();
            assert!(matches!(results[..], [UnitResult::Done(_)]));
            assert!(block_on(store.instance(id)).unwrap().is_some());
            assert!(block_on(store.is_committed(number)).unwrap());
        }
        drop(gates);
        for list in lists {
            block_on(list).unwrap();
        }
    }
}
