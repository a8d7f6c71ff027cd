//! The store trait on SQLite.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meantime_core::{DefinitionId, IncidentId, InstanceId, TaskId, Timestamp};
use meantime_kernel::store::{
    ChildRef, DefinitionFilter, DefinitionRow, Error, HistoryRow, IncidentRow, InstanceFilter,
    InstanceRow, OccurrenceRow, Page, Pending, Plan, Recovered, Store, TakeRequest, Taken,
    TakenInstance, TaskFilter, TaskRow, TimerFilter, TimerKey, TimerRow, UnitResult,
};

use super::db::Db;
use super::options::Options;
use super::readers::Readers;
use super::stats::{Counters, Stats};
use super::writer::Writer;
use super::{
    check, claim, definition, history, inbox, incident, instance, instance_list, node, occurrence,
    oneshot, open, task, timer,
};

/// A store in one SQLite file, owned by this process while the value lives.
pub struct SqliteStore {
    // Dropped in this order: the writer is the last to close the file and empties its log.
    readers: Readers,
    writer: Writer,
    counters: Arc<Counters>,
    path: PathBuf,
    options: Options,
    _lock: File,
}

impl SqliteStore {
    /// Opens a store, making the file and bringing its schema up to date as needed.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let lock = open::lock(&path)?;
        let connection = open::writer(&path, &options)?;
        let counters = Arc::new(Counters::default());
        let readers = Readers::open(&path, &options)?;
        let writer = Writer::start(&path, &options, connection, &counters)?;
        Ok(Self { readers, writer, counters, path, options, _lock: lock })
    }

    /// What the writer has done since the store was opened.
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Whether writing has failed for good: a sync failed or the answer to a commit was lost. All
    /// further commits are refused; the process should end and recover from the file.
    pub fn has_failed(&self) -> bool {
        self.counters.has_failed()
    }

    /// Changes how large the file may become; none is as large as the disk allows.
    pub fn set_max_size(&self, bytes: Option<u64>) -> Pending<'_, ()> {
        let answer = self.writer.set_max_size(bytes);
        Box::pin(async move { answer.await.unwrap_or_else(|| Err(gone())) })
    }

    fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Db<'_>) -> Result<T, Error>,
    ) -> Pending<'_, T> {
        Box::pin(std::future::ready(self.readers.read(read)))
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

fn gone() -> Error {
    Error::Bug("the writer thread is gone".to_owned())
}

fn take(db: &Db<'_>, request: &TakeRequest) -> Result<Taken, Error> {
    let instances = request.instances.iter().map(|wanted| {
        let row = if wanted.row { instance::get(db, wanted.id)? } else { None };
        let limit = if wanted.inbox { request.inbox_limit } else { 0 };
        Ok(TakenInstance { row, inbox: inbox::head(db, wanted.id, limit)? })
    });
    let tasks = request.tasks.iter().map(|id| task::get(db, *id));
    let claims = request.claims.iter().map(|query| claim::ready(db, query, request.now));
    let incidents = request.incidents.iter().map(|id| incident::get(db, *id));
    Ok(Taken {
        instances: instances.collect::<Result<_, Error>>()?,
        tasks: tasks.collect::<Result<_, Error>>()?,
        claims: claims.collect::<Result<_, Error>>()?,
        incidents: incidents.collect::<Result<_, Error>>()?,
        hold: None,
    })
}

impl Store for SqliteStore {
    fn take(&self, request: TakeRequest) -> Pending<'_, Taken> {
        self.read(|db| take(db, &request))
    }

    fn commit(&self, _taken: Taken, plan: Plan) -> Pending<'_, Vec<UnitResult>> {
        let answer = self.writer.commit(plan);
        Box::pin(async move { answer.await.unwrap_or_else(|| Err(gone())) })
    }

    fn is_committed(&self, batch: u64) -> Pending<'_, bool> {
        self.read(|db| Ok(node::last_batch(db)? >= batch))
    }

    fn recover(&self, _now: Timestamp) -> Pending<'_, Recovered> {
        self.read(node::recover)
    }

    fn due_timers(&self, after: Option<TimerKey>, limit: usize) -> Pending<'_, Vec<TimerRow>> {
        self.read(|db| timer::due(db, after, limit))
    }

    fn definition(&self, id: DefinitionId) -> Pending<'_, Option<DefinitionRow>> {
        self.read(|db| definition::get(db, id))
    }

    fn definitions(&self, filter: DefinitionFilter) -> Pending<'_, Vec<DefinitionRow>> {
        self.read(|db| definition::list(db, &filter))
    }

    fn instance(&self, id: InstanceId) -> Pending<'_, Option<InstanceRow>> {
        self.read(|db| instance::get(db, id))
    }

    fn instances(
        &self,
        filter: InstanceFilter,
        page: Page<InstanceId>,
    ) -> Pending<'_, Vec<InstanceRow>> {
        self.read(|db| instance_list::list(db, &filter, page))
    }

    fn children(&self, parent: InstanceId) -> Pending<'_, Vec<ChildRef>> {
        self.read(|db| instance::children(db, parent))
    }

    fn history(&self, from: u64, limit: usize) -> Pending<'_, Vec<HistoryRow>> {
        self.read(|db| history::chain(db, from, limit))
    }

    fn task(&self, id: TaskId) -> Pending<'_, Option<TaskRow>> {
        self.read(|db| task::get(db, id))
    }

    fn tasks(&self, filter: TaskFilter, page: Page<TaskId>) -> Pending<'_, Vec<TaskRow>> {
        self.read(|db| task::list(db, &filter, page))
    }

    fn timer(&self, key: TimerKey) -> Pending<'_, Option<TimerRow>> {
        self.read(|db| timer::get(db, key))
    }

    fn timers(&self, filter: TimerFilter, page: Page<TimerKey>) -> Pending<'_, Vec<TimerRow>> {
        self.read(|db| timer::list(db, &filter, page))
    }

    fn incident(&self, id: IncidentId) -> Pending<'_, Option<IncidentRow>> {
        self.read(|db| incident::get(db, id))
    }

    fn incidents(
        &self,
        instance: Option<InstanceId>,
        page: Page<IncidentId>,
    ) -> Pending<'_, Vec<IncidentRow>> {
        self.read(|db| incident::list(db, instance, page))
    }

    fn occurrences(
        &self,
        schedule: InstanceId,
        page: Page<Timestamp>,
    ) -> Pending<'_, Vec<OccurrenceRow>> {
        self.read(|db| occurrence::list(db, schedule, page))
    }

    /// Reads the whole file, so it runs on a thread and a connection of its own.
    fn check(&self) -> Pending<'_, Vec<String>> {
        let (sender, answer) = oneshot::channel();
        let (path, options) = (self.path.clone(), self.options.clone());
        let work = move || sender.send(check::check(&path, &options));
        let started = std::thread::Builder::new().name("meantime-check".to_owned()).spawn(work);
        Box::pin(async move {
            started.map_err(|error| Error::Unavailable(error.to_string()))?;
            answer.await.unwrap_or_else(|| Err(Error::Bug("the check ended early".to_owned())))
        })
    }
}
