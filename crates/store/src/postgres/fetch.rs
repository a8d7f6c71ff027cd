//! Reads and locks what turns need, in one transaction that stays open until their commit.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_core::{DefinitionId, InstanceId, TaskId};
use meantime_kernel::store::{
    Error, Fences, FetchRequest, Fetched, FetchedInstance, InboxRow, IncidentRow, InstanceRow,
    Phase, TaskRow, Wanted,
};
use tokio_postgres::Row;

use super::claim::Claims;
use super::connection::{Call, Connection, QueryAnswer, QueryError};
use super::pool::{Pool, PooledConnection};
use super::{inbox, incident, instance, task};
use crate::row::Columns;
use crate::row::instance::counted;

/// An open transaction between `fetch` and `commit`. Dropping it rolls back and releases its locks.
pub(super) struct Hold {
    pub(super) pooled: PooledConnection,
    pub(super) locked: Locked,
}

impl Hold {
    /// The hold that [`fetch`] put into a result.
    pub(super) fn of(fetched: Fetched) -> Option<Self> {
        fetched.hold.and_then(|hold| hold.downcast::<Self>().ok()).map(|hold| *hold)
    }
}

/// Rows that the transaction has locked, with their turn numbers and claims.
#[derive(Default)]
pub(super) struct Locked {
    pub(super) turns: BTreeMap<InstanceId, u64>,
    /// Where they are counted.
    pub(super) counted: BTreeMap<InstanceId, (DefinitionId, Phase)>,
    pub(super) claims: BTreeMap<TaskId, u32>,
}

impl Locked {
    pub(super) fn fences(&self) -> Fences {
        let mut fences = Fences::default();
        self.turns.iter().for_each(|(id, turn_no)| fences.add_instance(*id, *turn_no));
        self.claims.iter().for_each(|(id, claims)| fences.add_task(*id, *claims));
        fences
    }

    pub(super) fn add_instances(&mut self, answer: &QueryAnswer) -> Result<(), Error> {
        let read = |row: &Row| Ok((row.instance(0, 1)?, row.number(2)?, counted(row, 4, 3)?));
        for (id, turn_no, counted) in answer.read(read)? {
            self.turns.insert(id, turn_no);
            self.counted.insert(id, counted);
        }
        Ok(())
    }
}

/// Reads what a batch needs. If an idle connection turns out to be broken, it is tried once more.
pub(super) async fn fetch(pool: &Arc<Pool>, request: &FetchRequest) -> Result<Fetched, Error> {
    match attempt(pool, request).await {
        Err(failure) if failure.is_worth_retrying => {
            pool.forget();
            Ok(attempt(pool, request).await?)
        }
        done => Ok(done?),
    }
}

async fn attempt(pool: &Arc<Pool>, request: &FetchRequest) -> Result<Fetched, QueryError> {
    let mut pooled = pool.acquire().await?;
    let begin = pooled.begin();
    let wanted = Request::new(request);
    let mut calls = vec![begin];
    calls.extend(wanted.calls());
    let answers = pooled.run(&calls).await?;
    let mut read = wanted.read(answers.into_iter().skip(1))?;
    read.look_for_busy(&pooled, &wanted).await?;
    let claims = Claims::new(&request.claims, request.now);
    let claims = claims.find(&pooled, &mut read.damaged_tasks).await?;
    for task in claims.iter().flatten() {
        read.locked.claims.insert(task.id, task.claims);
    }
    let instances = request.instances.iter().map(|wanted| read.instance(*wanted));
    let instances = instances.collect();
    let tasks = request.tasks.iter().map(|id| read.tasks.remove(id)).collect();
    let incident = |id: &_| read.incidents.iter().find(|row: &&IncidentRow| row.id == *id).cloned();
    let incidents = request.incidents.iter().map(incident).collect();
    let hold: Box<dyn Any + Send> = Box::new(Hold { pooled, locked: read.locked });
    let damaged_tasks = read.damaged_tasks;
    Ok(Fetched { instances, tasks, claims, incidents, damaged_tasks, hold: Some(hold) })
}

/// The rows to read.
struct Request<'a> {
    request: &'a FetchRequest,
    /// Instances whose rows are wanted.
    rows: Vec<InstanceId>,
    /// Instances that are only locked.
    locks: Vec<InstanceId>,
    /// Instances whose inboxes are wanted.
    inboxes: Vec<InstanceId>,
}

/// The rows that were found.
#[derive(Default)]
struct FetchedRows {
    rows: BTreeMap<InstanceId, InstanceRow>,
    inboxes: BTreeMap<InstanceId, Vec<InboxRow>>,
    tasks: BTreeMap<TaskId, TaskRow>,
    incidents: Vec<IncidentRow>,
    busy: Vec<InstanceId>,
    /// Instances with an event that cannot be decoded.
    damaged: BTreeMap<InstanceId, String>,
    damaged_tasks: Vec<(TaskId, String)>,
    locked: Locked,
}

impl<'a> Request<'a> {
    fn new(request: &'a FetchRequest) -> Self {
        let ids = |want: fn(&&Wanted) -> bool| {
            let mut ids: Vec<_> =
                request.instances.iter().filter(want).map(|wanted| wanted.id).collect();
            ids.sort_unstable();
            ids
        };
        let inboxes = if request.inbox_limit == 0 { Vec::new() } else { ids(|it| it.inbox) };
        Self { request, rows: ids(|it| it.row), locks: ids(|it| !it.row), inboxes }
    }

    /// Inboxes are read after the rows are locked: no other turn can take events from them
    /// afterwards.
    fn calls(&self) -> Vec<Call<'static>> {
        let request = self.request;
        let mut calls = Vec::new();
        if !self.rows.is_empty() {
            calls.push(instance::lock_and_fetch(&self.rows));
        }
        if !self.locks.is_empty() {
            calls.push(instance::lock(&self.locks));
        }
        if !self.inboxes.is_empty() {
            calls.push(inbox::heads(&self.inboxes, request.inbox_limit));
        }
        if !request.tasks.is_empty() {
            calls.push(task::get(&request.tasks));
        }
        if !request.incidents.is_empty() {
            calls.push(incident::get(&request.incidents));
        }
        calls
    }

    /// Reads the answers to [`Self::calls`].
    fn read(&self, mut answers: impl Iterator<Item = QueryAnswer>) -> Result<FetchedRows, Error> {
        let mut next = |is_asked: bool| if is_asked { answers.next() } else { None };
        let mut found = FetchedRows::default();
        if let Some(answer) = next(!self.rows.is_empty()) {
            for row in instance::read_rows(&answer)? {
                found.locked.turns.insert(row.id, row.turn_no);
                found.locked.counted.insert(row.id, (row.definition, row.phase));
                found.rows.insert(row.id, row);
            }
        }
        if let Some(answer) = next(!self.locks.is_empty()) {
            found.locked.add_instances(&answer)?;
        }
        if let Some(answer) = next(!self.inboxes.is_empty()) {
            found.inboxes = inbox::read_heads(&answer, &mut found.damaged)?;
        }
        if let Some(answer) = next(!self.request.tasks.is_empty()) {
            let rows = task::read_lenient(&answer, &mut found.damaged_tasks)?;
            found.tasks = rows.into_iter().map(|row| (row.id, row)).collect();
        }
        if let Some(answer) = next(!self.request.incidents.is_empty()) {
            found.incidents = incident::read_rows(&answer)?;
        }
        Ok(found)
    }
}

impl FetchedRows {
    /// An instance that was not found either does not exist, or another transaction has locked it.
    async fn look_for_busy(
        &mut self,
        connection: &Connection,
        request: &Request<'_>,
    ) -> Result<(), QueryError> {
        let wanted = request.rows.iter().chain(&request.locks).copied();
        let missing: Vec<InstanceId> =
            wanted.filter(|id| !self.locked.turns.contains_key(id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let answers = connection.run(&[instance::which(&missing)]).await?;
        if let Some(answer) = answers.first() {
            let there = answer.read(|row| row.instance(0, 1))?;
            self.busy = missing.into_iter().filter(|id| there.contains(id)).collect();
        }
        Ok(())
    }

    fn instance(&mut self, wanted: Wanted) -> FetchedInstance {
        if self.busy.contains(&wanted.id) {
            return FetchedInstance { busy: true, ..FetchedInstance::default() };
        }
        let mut row = self.rows.remove(&wanted.id).filter(|_| wanted.row);
        let damage = row.as_mut().and_then(|row| row.meta.damaged.take());
        let damage = damage.or(self.damaged.remove(&wanted.id));
        let inbox = self.inboxes.remove(&wanted.id).unwrap_or_default();
        FetchedInstance { row, inbox, busy: false, damage }
    }
}
