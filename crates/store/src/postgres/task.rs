//! Tasks that have not ended, or that have ended and were detached.

use std::collections::BTreeMap;

use meantime_core::{TaskId, TaskKind, Timestamp};
use meantime_kernel::store::{Error, Page, Partition, TaskFilter, TaskRow, TaskState, WaitingTask};

use super::connection::{Call, Connection, Param, QueryAnswer, QueryError, arrays, values};
use super::text::{text, text_if};
use crate::row::task::{
    columns, key_columns, kind_name, read, spec_column, waiting as waiting_row, waiting_columns,
};
use crate::row::{Columns, id_order, int, millis, packed};

/// The values of rows, in the order of `columns!`.
macro_rules! row_arrays {
    () => {
        "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], \
         $7::text[], $8::integer[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], \
         $13::bigint[], $14::boolean[], $15::bigint[], $16::bigint[], $17::bigint[], $18::text[], \
         $19::bigint[], $20::bigint[], $21::text[], $22::bytea[], $23::bytea[]"
    };
}

/// The keys of several tasks.
macro_rules! key_arrays {
    () => {
        "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) \
         AS k (k_id_order, k_turn_no, k_ordinal, k_id_random)"
    };
}

/// The row of `task` with each key.
macro_rules! with_key {
    ($columns:literal, $lock:literal) => {
        concat!(
            " CROSS JOIN LATERAL (SELECT ",
            $columns,
            " FROM task WHERE id_order = k_id_order AND turn_no = k_turn_no AND ordinal = \
                 k_ordinal \
             AND id_random = k_id_random OFFSET 0 ",
            $lock,
            ") AS t"
        )
    };
}

const INSERT: &str =
    concat!("INSERT INTO task (", columns!(), ") SELECT * FROM ", row_arrays!(), ")");
const REPLACE: &str = concat!(
    "UPDATE task AS t SET kind = n.kind, queue = n.queue, name = n.name, priority = n.priority, \
     state = n.state, available_at = n.available_at, created_at = n.created_at, \
     deadline_at = n.deadline_at, definition_id = n.definition_id, detached = t.detached OR \
     n.detached, \
     claims = n.claims, attempt = n.attempt, expiries = n.expiries, \
     lease_worker = n.lease_worker, lease_until = n.lease_until, \
     lease_timeout_at = n.lease_timeout_at, assignee = n.assignee, outcome = n.outcome, \
     spec = n.spec FROM (SELECT *, (SELECT ctid FROM task AS t WHERE t.id_order = u.id_order \
     AND t.turn_no = u.turn_no AND t.ordinal = u.ordinal AND t.id_random = u.id_random \
     AND t.claims = u.expected) AS row_id FROM ",
    row_arrays!(),
    ", $24::bigint[]) AS u (",
    columns!(),
    ", expected)) AS n WHERE t.ctid = n.row_id"
);
const DELETE: &str = concat!(
    "DELETE FROM task WHERE ctid = ANY (ARRAY(SELECT t.ctid FROM ",
    key_arrays!(),
    with_key!("ctid", ""),
    "))"
);
const DETACH: &str = concat!(
    "UPDATE task SET detached = true WHERE ctid = ANY (ARRAY(SELECT t.ctid FROM ",
    key_arrays!(),
    with_key!("ctid", ""),
    "))"
);
// Sorted by key, and without waiting for locks: another transaction holds a row only briefly.
const LOCK: &str = concat!(
    "SELECT id_order, turn_no, ordinal, id_random, claims FROM ",
    key_arrays!(),
    with_key!("*", "FOR NO KEY UPDATE SKIP LOCKED")
);
const GET: &str = concat!("SELECT ", columns!(), " FROM ", key_arrays!(), with_key!("*", ""));
const WHICH: &str = concat!(
    "SELECT id_order, turn_no, ordinal, id_random FROM ",
    key_arrays!(),
    with_key!("id_order, turn_no, ordinal, id_random", "")
);
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task WHERE (id_order, turn_no, ordinal) > ($1, $2, $3) AND id_order <= $4 \
     AND kind = coalesce($5, kind) AND state = coalesce($6, state) \
     ORDER BY id_order, turn_no, ordinal LIMIT $7"
);
const LIST_USER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task WHERE kind = 'user' AND (id_order, turn_no, ordinal) > ($1, $2, $3) AND id_order \
         <= $4 \
     AND state = coalesce($5, state) ORDER BY id_order, turn_no, ordinal LIMIT $6"
);
const WAITING: &str = concat!(
    "SELECT ",
    waiting_columns!(),
    " FROM task WHERE (state = 'leased' OR (state = 'ready' AND (kind = 'engine' \
     OR available_at > $1))) AND (id_random & 255) % $2 = $3"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[INSERT, REPLACE, DELETE, DETACH, LOCK, GET, WHICH, LIST, LIST_USER, WAITING];

/// The last change of a plan to a task.
#[derive(Clone, Copy)]
enum Change<'a> {
    Insert { row: &'a TaskRow, detached: bool },
    Replace { row: &'a TaskRow, detached: bool, expected: u32 },
    Delete,
    Detach,
}

/// The changes of a plan to tasks. Their fences have been checked before.
#[derive(Default)]
pub(super) struct Changes<'a>(BTreeMap<TaskId, Change<'a>>);

impl<'a> Changes<'a> {
    pub(super) fn insert(&mut self, row: &'a TaskRow) {
        let detached = row.spec.detached;
        self.0.insert(row.id, Change::Insert { row, detached });
    }

    pub(super) fn replace(&mut self, row: &'a TaskRow, claims: u32) {
        // A detached task stays detached: the writer may have read the row before.
        let detached = row.spec.detached;
        let change = match self.0.get(&row.id) {
            Some(Change::Insert { detached: was, .. }) => {
                Change::Insert { row, detached: *was || detached }
            }
            Some(Change::Replace { expected, detached: was, .. }) => {
                Change::Replace { row, detached: *was || detached, expected: *expected }
            }
            Some(Change::Detach) => Change::Replace { row, detached: true, expected: claims },
            Some(Change::Delete) | None => Change::Replace { row, detached, expected: claims },
        };
        self.0.insert(row.id, change);
    }

    pub(super) fn delete(&mut self, id: TaskId) {
        self.0.insert(id, Change::Delete);
    }

    /// Detaches a task.
    pub(super) fn detach(&mut self, id: TaskId) {
        let change = self.0.entry(id).or_insert(Change::Detach);
        if let Change::Insert { detached, .. } | Change::Replace { detached, .. } = change {
            *detached = true;
        }
    }

    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        let mut inserts = Vec::new();
        let mut replaces = Vec::new();
        let (mut deletes, mut detaches) = (Vec::new(), Vec::new());
        for (id, change) in &self.0 {
            match *change {
                Change::Insert { row, detached } => inserts.push((row, detached)),
                Change::Replace { row, detached, expected } => {
                    replaces.push(((row, detached), i64::from(expected)));
                }
                Change::Delete => deletes.push(*id),
                Change::Detach => detaches.push(*id),
            }
        }
        if !deletes.is_empty() {
            calls.push(Call::new(DELETE, keys(&deletes)));
        }
        if !detaches.is_empty() {
            calls.push(Call::new(DETACH, keys(&detaches)));
        }
        if !inserts.is_empty() {
            calls.push(Call::new(INSERT, rows(&inserts)));
        }
        if !replaces.is_empty() {
            let (new, expected): (Vec<_>, Vec<i64>) = replaces.into_iter().unzip();
            let mut params = rows(&new);
            params.push(Box::new(expected));
            calls.push(Call::new(REPLACE, params));
        }
    }
}

fn rows<'a>(rows: &[(&'a TaskRow, bool)]) -> Vec<Param<'a>> {
    let keys: Vec<_> = rows.iter().map(|(row, _)| key_columns(row.id)).collect();
    let mut params = arrays!(keys, |key| [key.0, key.1, i64::from(key.2), key.3]);
    params.extend(arrays!(rows, |it| [
        kind_name(it.0.spec.kind),
        text(&it.0.spec.queue),
        text(&it.0.spec.name),
        it.0.spec.priority,
        it.0.state.name(),
        it.0.available_at.as_millis(),
        it.0.created_at.as_millis(),
        millis(it.0.deadline_at),
        int(it.0.definition.0),
        it.1,
        i64::from(it.0.claims),
        i64::from(it.0.attempt),
        i64::from(it.0.expiries),
        text_if(it.0.lease.as_ref().map(|lease| lease.worker.as_str())),
        it.0.lease.as_ref().map(|lease| lease.until.as_millis()),
        it.0.lease.as_ref().and_then(|lease| millis(lease.timeout_at)),
        text_if(it.0.assignee.as_deref()),
        it.0.outcome.as_ref().map(packed),
        spec_column(&it.0.spec),
    ]));
    params
}

fn keys(ids: &[TaskId]) -> Vec<Param<'static>> {
    let keys: Vec<_> = ids.iter().copied().map(key_columns).collect();
    arrays!(keys, |key| [key.0, key.1, i64::from(key.2), key.3])
}

/// Locks tasks; the answer is read by [`read_claims`].
pub(super) fn lock(ids: &[TaskId]) -> Call<'static> {
    Call::new(LOCK, keys(ids))
}

pub(super) fn read_claims(answer: &QueryAnswer) -> Result<Vec<(TaskId, u32)>, Error> {
    answer.read(|row| Ok((TaskId(row.effect(0, "task")?), row.count(4, "task")?)))
}

/// Which tasks exist, locked or not.
pub(super) fn which(ids: &[TaskId]) -> Call<'static> {
    Call::new(WHICH, keys(ids))
}

pub(super) fn read_ids(answer: &QueryAnswer) -> Result<Vec<TaskId>, Error> {
    answer.read(|row| row.effect(0, "task").map(TaskId))
}

/// Reads tasks without locking them: every decision about them is fenced by their claims.
pub(super) fn get(ids: &[TaskId]) -> Call<'static> {
    Call::new(GET, keys(ids))
}

/// Reads tasks. Those that cannot be decoded are returned separately.
pub(super) fn read_lenient(
    answer: &QueryAnswer,
    damaged: &mut Vec<(TaskId, String)>,
) -> Result<Vec<TaskRow>, Error> {
    let mut tasks = Vec::new();
    for row in &answer.rows {
        match read(row) {
            Err(error @ Error::DamagedRow(_)) => {
                damaged.push((TaskId(row.effect(0, "task")?), error.to_string()));
            }
            read => tasks.push(read?),
        }
    }
    Ok(tasks)
}

pub(super) fn read_rows(answer: &QueryAnswer) -> Result<Vec<TaskRow>, Error> {
    answer.read(read)
}

pub(super) async fn one(
    connection: &Connection,
    id: TaskId,
) -> Result<Option<TaskRow>, QueryError> {
    let answers = connection.run(&[get(&[id])]).await?;
    Ok(answers.first().map(read_rows).transpose()?.unwrap_or_default().pop())
}

/// A page of tasks in the order of their ids.
pub(super) async fn list(
    connection: &Connection,
    filter: &TaskFilter,
    page: Page<TaskId>,
) -> Result<Vec<TaskRow>, QueryError> {
    let first = filter.instance.map_or((-1, -1, -1), |id| (id_order(id), -1, -1));
    let after = page.after.map_or((-1, -1, -1), |TaskId(key)| {
        (id_order(key.instance), int(key.turn_no), i64::from(key.ordinal))
    });
    let (from, turn_no, ordinal) = first.max(after);
    let until = filter.instance.map_or(i64::MAX, id_order);
    let state = filter.state.map(TaskState::name);
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
    let found = if filter.kind == Some(TaskKind::User) {
        let values = values![from, turn_no, ordinal, until, state, limit];
        connection.one(LIST_USER, values).await?
    } else {
        let kind = filter.kind.map(kind_name);
        let values = values![from, turn_no, ordinal, until, kind, state, limit];
        connection.one(LIST, values).await?
    };
    let rows = read_rows(&found)?.into_iter();
    // An `id_order` belongs to one instance; only a guessed id has another random part.
    Ok(rows.filter(|row| filter.instance.is_none_or(|id| row.id.0.instance == id)).collect())
}

/// Tasks of a partition that wait for time or for the engine.
pub(super) fn waiting(clock: Timestamp, partition: Partition) -> Call<'static> {
    let (of, part) = (i64::from(partition.count.max(1)), i64::from(partition.index));
    Call::new(WAITING, values![clock.as_millis(), of, part])
}

pub(super) fn read_waiting(answer: &QueryAnswer) -> Result<Vec<WaitingTask>, Error> {
    let mut tasks = answer.read(waiting_row)?;
    tasks.sort_by_key(|task| task.id);
    Ok(tasks)
}
