//! Tasks that have not ended, or that have ended and were detached.

use meantime_core::{TaskId, TaskKind, TaskSpec, Timestamp};
use meantime_kernel::store::{Error, Page, TaskFilter, TaskRow, TaskState, WaitingTask};
use rusqlite::{Row, params};

use super::db::Db;
use crate::row::task::{
    columns, key_columns, kind_name, read, spec_column, waiting as waiting_row, waiting_columns,
};
use crate::row::{Columns, id_order, int, millis, packed};

const INSERT: &str = concat!(
    "INSERT OR REPLACE INTO task (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
     ?19, ?20, ?21, ?22, ?23)"
);
const REPLACE: &str = "UPDATE task SET kind = ?5, queue = ?6, name = ?7, priority = ?8, \
     state = ?9, available_at = ?10, created_at = ?11, deadline_at = ?12, definition_id = ?13, \
     detached = max(detached, ?14), claims = ?15, attempt = ?16, expiries = ?17, lease_worker = \
     ?18, \
     lease_until = ?19, lease_timeout_at = ?20, assignee = ?21, outcome = ?22, spec = ?23 \
     WHERE id_order = ?1 AND turn_no = ?2 AND ordinal = ?3 AND id_random = ?4 AND claims = ?24";
const DELETE: &str =
    "DELETE FROM task WHERE id_order = ?1 AND turn_no = ?2 AND ordinal = ?3 AND id_random = ?4";
const DELETE_CLAIMED: &str = "DELETE FROM task \
     WHERE id_order = ?1 AND turn_no = ?2 AND ordinal = ?3 AND id_random = ?4 AND claims = ?5";
const DETACH: &str = "UPDATE task SET detached = 1 \
     WHERE id_order = ?1 AND turn_no = ?2 AND ordinal = ?3 AND id_random = ?4";
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task WHERE id_order = ?1 AND turn_no = ?2 AND ordinal = ?3 AND id_random = ?4"
);
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task WHERE (id_order, turn_no, ordinal) > (?1, ?2, ?3) AND id_order <= ?4 \
     AND kind = ifnull(?5, kind) AND state = ifnull(?6, state) ORDER BY id_order, turn_no, ordinal"
);
const LIST_USER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task INDEXED BY task_user \
     WHERE (id_order, turn_no, ordinal) > (?1, ?2, ?3) AND id_order <= ?4 AND kind = 'user' \
     AND state = ifnull(?5, state) ORDER BY id_order, turn_no, ordinal"
);
const WAITING: &str = concat!(
    "SELECT ",
    waiting_columns!(),
    " FROM task WHERE state = 'leased' \
     OR (state = 'ready' AND (kind = 'engine' OR available_at > ?1))"
);

#[cfg(test)]
pub(super) const ALL: &[&str] =
    &[INSERT, REPLACE, DELETE, DELETE_CLAIMED, DETACH, GET, LIST, LIST_USER, WAITING];

/// Schedules a task.
pub(super) fn insert(db: &Db<'_>, row: &TaskRow) -> Result<(), Error> {
    write(db, INSERT, row, None).map(drop)
}

/// Replaces the row if it has this number of claims (I5).
pub(super) fn replace(db: &Db<'_>, row: &TaskRow, claims: u32) -> Result<bool, Error> {
    Ok(write(db, REPLACE, row, Some(claims))? == 1)
}

/// Removes a task; returns whether its fence, if it has one, held.
pub(super) fn delete(db: &Db<'_>, id: TaskId, claims: Option<u32>) -> Result<bool, Error> {
    let (id_order, turn_no, ordinal, id_random) = key_columns(id);
    match claims {
        None => db.run(DELETE, params![id_order, turn_no, ordinal, id_random]).map(|_| true),
        Some(claims) => {
            Ok(db.run(DELETE_CLAIMED, params![id_order, turn_no, ordinal, id_random, claims])? == 1)
        }
    }
}

/// Detaches a task.
pub(super) fn detach(db: &Db<'_>, id: TaskId) -> Result<(), Error> {
    db.run(DETACH, key_columns(id)).map(drop)
}

pub(super) fn get(db: &Db<'_>, id: TaskId) -> Result<Option<TaskRow>, Error> {
    db.first(GET, key_columns(id), |row| read(row))
}

/// A task; one that cannot be decoded is returned separately.
pub(super) fn get_lenient(
    db: &Db<'_>,
    id: TaskId,
    damaged: &mut Vec<(TaskId, String)>,
) -> Result<Option<TaskRow>, Error> {
    match get(db, id) {
        Err(error @ Error::DamagedRow(_)) => {
            damaged.push((id, error.to_string()));
            Ok(None)
        }
        read => read,
    }
}

/// A page of tasks in the order of their ids.
pub(super) fn list(
    db: &Db<'_>,
    filter: &TaskFilter,
    page: Page<TaskId>,
) -> Result<Vec<TaskRow>, Error> {
    let first = filter.instance.map_or((-1, -1, -1), |id| (id_order(id), -1, -1));
    let after = page.after.map_or((-1, -1, -1), |TaskId(key)| {
        (id_order(key.instance), int(key.turn_no), i64::from(key.ordinal))
    });
    let (from, turn_no, ordinal) = first.max(after);
    let until = filter.instance.map_or(i64::MAX, id_order);
    let state = filter.state.map(TaskState::name);
    let read = |row: &Row<'_>| {
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
    db.all(WAITING, [clock.as_millis()], |row| waiting_row(row))
}

fn write(db: &Db<'_>, sql: &str, row: &TaskRow, claims: Option<u32>) -> Result<usize, Error> {
    let (id_order, turn_no, ordinal, id_random) = key_columns(row.id);
    let TaskSpec { kind, name, queue, priority, detached, .. } = &row.spec;
    let lease = row.lease.as_ref();
    let (kind, state) = (kind_name(*kind), row.state.name());
    let worker = lease.map(|lease| &lease.worker);
    let until = lease.map(|lease| lease.until.as_millis());
    let timeout_at = lease.and_then(|lease| millis(lease.timeout_at));
    let outcome = row.outcome.as_ref().map(packed);
    let (available_at, created_at) = (row.available_at.as_millis(), row.created_at.as_millis());
    let (deadline_at, definition) = (millis(row.deadline_at), int(row.definition.0));
    let spec = spec_column(&row.spec);
    let values = params![
        id_order,
        turn_no,
        ordinal,
        id_random,
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
