//! Tasks that are not over, or are over and detached.

use meantime_core::{DefinitionId, Json, RetryPolicy, TaskId, TaskKind, TaskSpec, Timestamp};
use meantime_kernel::store::{Error, LeaseRow, Page, TaskFilter, TaskRow, TaskState, WaitingTask};
use minicbor::{Decode, Encode};
use rusqlite::params;

use super::db::{Columns, Db, int, millis, ord, packed, random};
use super::error::damaged;

const TABLE: &str = "task";

/// What [`read`] reads, in its order.
macro_rules! columns {
    () => {
        "ord, turn_no, ordinal, random, kind, queue, name, priority, state, available_at, \
         created_at, deadline_at, definition_id, detached, claims, attempt, expiries, \
         lease_worker, lease_until, lease_timeout_at, assignee, outcome, spec"
    };
}

const INSERT: &str = concat!(
    "INSERT OR REPLACE INTO task (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
     ?19, ?20, ?21, ?22, ?23)"
);
const REPLACE: &str = "UPDATE task SET kind = ?5, queue = ?6, name = ?7, priority = ?8, \
     state = ?9, available_at = ?10, created_at = ?11, deadline_at = ?12, definition_id = ?13, \
     detached = ?14, claims = ?15, attempt = ?16, expiries = ?17, lease_worker = ?18, \
     lease_until = ?19, lease_timeout_at = ?20, assignee = ?21, outcome = ?22, spec = ?23 \
     WHERE ord = ?1 AND turn_no = ?2 AND ordinal = ?3 AND random = ?4 AND claims = ?24";
const DELETE: &str =
    "DELETE FROM task WHERE ord = ?1 AND turn_no = ?2 AND ordinal = ?3 AND random = ?4";
const DELETE_CLAIMED: &str = "DELETE FROM task \
     WHERE ord = ?1 AND turn_no = ?2 AND ordinal = ?3 AND random = ?4 AND claims = ?5";
const DETACH: &str = "UPDATE task SET detached = 1 \
     WHERE ord = ?1 AND turn_no = ?2 AND ordinal = ?3 AND random = ?4";
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task WHERE ord = ?1 AND turn_no = ?2 AND ordinal = ?3 AND random = ?4"
);
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task WHERE (ord, turn_no, ordinal) > (?1, ?2, ?3) AND ord <= ?4 \
     AND kind = ifnull(?5, kind) AND state = ifnull(?6, state) ORDER BY ord, turn_no, ordinal"
);
const LIST_USER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task INDEXED BY task_user \
     WHERE (ord, turn_no, ordinal) > (?1, ?2, ?3) AND ord <= ?4 AND kind = 'user' \
     AND state = ifnull(?5, state) ORDER BY ord, turn_no, ordinal"
);
const WAITING: &str = "SELECT ord, turn_no, ordinal, random, kind, queue, state, available_at, \
     lease_until, lease_timeout_at FROM task WHERE state = 'leased' \
     OR (state = 'ready' AND (kind = 'engine' OR available_at > ?1))";

#[cfg(test)]
pub(super) const ALL: &[&str] =
    &[INSERT, REPLACE, DELETE, DELETE_CLAIMED, DETACH, GET, LIST, LIST_USER, WAITING];

const KINDS: [(TaskKind, &str); 3] =
    [(TaskKind::Worker, "worker"), (TaskKind::Engine, "engine"), (TaskKind::User, "user")];

/// The parts of a task that no statement looks at. Field numbers are a storage format.
#[derive(Encode, Decode)]
struct Packed {
    #[n(0)]
    place: String,
    #[n(1)]
    input: Json,
    #[n(2)]
    headers: Option<Json>,
    #[n(3)]
    retry: RetryPolicy,
    #[n(4)]
    timeout_ms: Option<u64>,
    #[n(5)]
    deadline_at: Option<Timestamp>,
}

/// Schedules a task.
pub(super) fn insert(db: &Db<'_>, row: &TaskRow) -> Result<(), Error> {
    write(db, INSERT, row, None).map(drop)
}

/// Replaces the row if it was claimed so often (I5).
pub(super) fn replace(db: &Db<'_>, row: &TaskRow, claims: u32) -> Result<bool, Error> {
    Ok(write(db, REPLACE, row, Some(claims))? == 1)
}

/// Removes a task; says whether its fence, if it has one, held.
pub(super) fn delete(db: &Db<'_>, id: TaskId, claims: Option<u32>) -> Result<bool, Error> {
    let (ord, turn_no, ordinal, random) = key_columns(id);
    match claims {
        None => db.run(DELETE, params![ord, turn_no, ordinal, random]).map(|_| true),
        Some(claims) => {
            Ok(db.run(DELETE_CLAIMED, params![ord, turn_no, ordinal, random, claims])? == 1)
        }
    }
}

/// Leaves a task to itself.
pub(super) fn detach(db: &Db<'_>, id: TaskId) -> Result<(), Error> {
    db.run(DETACH, key_columns(id)).map(drop)
}

pub(super) fn get(db: &Db<'_>, id: TaskId) -> Result<Option<TaskRow>, Error> {
    db.first(GET, key_columns(id), read)
}

/// A page of tasks in the order of their ids.
pub(super) fn list(
    db: &Db<'_>,
    filter: &TaskFilter,
    page: Page<TaskId>,
) -> Result<Vec<TaskRow>, Error> {
    let first = filter.instance.map_or((-1, -1, -1), |id| (ord(id), -1, -1));
    let after = page.after.map_or((-1, -1, -1), |TaskId(key)| {
        (ord(key.instance), int(key.turn_no), i64::from(key.ordinal))
    });
    let (from, turn_no, ordinal) = first.max(after);
    let until = filter.instance.map_or(i64::MAX, ord);
    let state = filter.state.map(TaskState::name);
    let read = |row: &Columns<'_, '_>| {
        let is_wanted =
            filter.instance.is_none_or(|id| row.instance(0, 3).is_ok_and(|it| it == id));
        if is_wanted { read(row).map(Some) } else { Ok(None) }
    };
    if filter.kind == Some(TaskKind::User) {
        let params = params![from, turn_no, ordinal, until, state];
        return db.some(LIST_USER, params, page.limit, read);
    }
    let kind = filter.kind.map(kind_name);
    db.some(LIST, params![from, turn_no, ordinal, until, kind, state], page.limit, read)
}

/// Tasks that wait for time or for the engine, by id.
pub(super) fn waiting(db: &Db<'_>, clock: Timestamp) -> Result<Vec<WaitingTask>, Error> {
    db.all(WAITING, [clock.as_millis()], |row| {
        Ok(WaitingTask {
            id: TaskId(row.effect(0, TABLE)?),
            kind: row.parsed(4, TABLE, kind)?,
            queue: row.get(5)?,
            state: row.parsed(6, TABLE, state)?,
            available_at: row.instant(7, TABLE)?,
            lease_until: row.instant_if(8, TABLE)?,
            timeout_at: row.instant_if(9, TABLE)?,
        })
    })
}

fn write(db: &Db<'_>, sql: &str, row: &TaskRow, claims: Option<u32>) -> Result<usize, Error> {
    let (ord, turn_no, ordinal, random) = key_columns(row.id);
    let TaskSpec { kind, name, place, queue, priority, detached, .. } = &row.spec;
    let spec = Packed {
        place: place.clone(),
        input: row.spec.input.clone(),
        headers: row.spec.headers.clone(),
        retry: row.spec.retry,
        timeout_ms: row.spec.timeout_ms,
        deadline_at: row.spec.deadline_at,
    };
    let lease = row.lease.as_ref();
    let (kind, state) = (kind_name(*kind), row.state.name());
    let worker = lease.map(|lease| &lease.worker);
    let until = lease.map(|lease| lease.until.as_millis());
    let timeout_at = lease.and_then(|lease| millis(lease.timeout_at));
    let outcome = row.outcome.as_ref().map(packed);
    let (available_at, created_at) = (row.available_at.as_millis(), row.created_at.as_millis());
    let (deadline_at, definition) = (millis(row.deadline_at), int(row.definition.0));
    let spec = packed(&spec);
    let values = params![
        ord,
        turn_no,
        ordinal,
        random,
        kind,
        queue,
        name,
        priority,
        state,
        available_at,
        created_at,
        deadline_at,
        definition,
        detached,
        row.claims,
        row.attempt,
        row.expiries,
        worker,
        until,
        timeout_at,
        row.assignee,
        outcome,
        spec,
    ];
    match &claims {
        None => db.run(sql, values),
        Some(claims) => {
            let fence: &dyn rusqlite::ToSql = claims;
            let fenced: Vec<&dyn rusqlite::ToSql> = values.iter().copied().chain([fence]).collect();
            db.run(sql, fenced.as_slice())
        }
    }
}

/// The key's columns: `ord, turn_no, ordinal, random`.
fn key_columns(TaskId(key): TaskId) -> (i64, i64, u32, i64) {
    (ord(key.instance), int(key.turn_no), key.ordinal, random(key.instance))
}

fn read(row: &Columns<'_, '_>) -> Result<TaskRow, Error> {
    let spec: Packed = row.unpacked(22, TABLE)?;
    let worker: Option<String> = row.get(17)?;
    let lease = match (worker, row.instant_if(18, TABLE)?) {
        (Some(worker), Some(until)) => {
            Some(LeaseRow { worker, until, timeout_at: row.instant_if(19, TABLE)? })
        }
        (None, None) => None,
        _ => return Err(damaged(TABLE, "half a lease")),
    };
    Ok(TaskRow {
        id: TaskId(row.effect(0, TABLE)?),
        spec: TaskSpec {
            kind: row.parsed(4, TABLE, kind)?,
            queue: row.get(5)?,
            name: row.get(6)?,
            priority: row.get(7)?,
            detached: row.get(13)?,
            place: spec.place,
            input: spec.input,
            headers: spec.headers,
            retry: spec.retry,
            timeout_ms: spec.timeout_ms,
            deadline_at: spec.deadline_at,
        },
        state: row.parsed(8, TABLE, state)?,
        available_at: row.instant(9, TABLE)?,
        created_at: row.instant(10, TABLE)?,
        deadline_at: row.instant_if(11, TABLE)?,
        definition: DefinitionId(row.number(12)?),
        claims: row.count(14, TABLE)?,
        attempt: row.count(15, TABLE)?,
        expiries: row.count(16, TABLE)?,
        lease,
        assignee: row.get(20)?,
        outcome: row.unpacked_if(21, TABLE)?,
    })
}

fn kind_name(kind: TaskKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("worker", |(_, name)| name)
}

fn kind(name: &[u8]) -> Result<TaskKind, &'static str> {
    let known = KINDS.iter().find(|(_, known)| known.as_bytes() == name);
    known.map(|(kind, _)| *kind).ok_or("unknown kind")
}

fn state(name: &[u8]) -> Result<TaskState, &'static str> {
    let known = std::str::from_utf8(name).ok().and_then(TaskState::from_name);
    known.ok_or("unknown state")
}
