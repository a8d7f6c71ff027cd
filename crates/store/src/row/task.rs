//! Tasks that have not ended, or that have ended and were detached.

use meantime_core::{DefinitionId, Json, RetryPolicy, TaskId, TaskKind, TaskSpec, Timestamp};
use meantime_kernel::store::{Error, LeaseRow, TaskRow, TaskState, WaitingTask};
use minicbor::{Decode, Encode};

use super::{Columns, damaged, id_order, id_random, int, packed};

const TABLE: &str = "task";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "id_order, turn_no, ordinal, id_random, kind, queue, name, priority, state, available_at, \
         created_at, deadline_at, definition_id, detached, claims, attempt, expiries, \
         lease_worker, lease_until, lease_timeout_at, assignee, outcome, spec"
    };
}
pub(crate) use columns;

/// The columns that [`waiting`] reads, in order.
macro_rules! waiting_columns {
    () => {
        "id_order, turn_no, ordinal, id_random, kind, queue, state, available_at, lease_until, \
         lease_timeout_at"
    };
}
pub(crate) use waiting_columns;

const KINDS: [(TaskKind, &str); 3] =
    [(TaskKind::Worker, "worker"), (TaskKind::Engine, "engine"), (TaskKind::User, "user")];

/// The parts of a task that no statement uses. Field numbers are a storage format.
#[derive(Encode, Decode)]
struct Packed {
    #[n(0)]
    element: String,
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
    #[n(6)]
    assignee: Option<String>,
}

/// The column `spec`.
pub(crate) fn spec_column(spec: &TaskSpec) -> Vec<u8> {
    packed(&Packed {
        element: spec.element.clone(),
        input: spec.input.clone(),
        headers: spec.headers.clone(),
        retry: spec.retry,
        timeout_ms: spec.timeout_ms,
        deadline_at: spec.deadline_at,
        assignee: spec.assignee.clone(),
    })
}

/// The key's columns: `id_order, turn_no, ordinal, id_random`.
pub(crate) fn key_columns(TaskId(key): TaskId) -> (i64, i64, u32, i64) {
    (id_order(key.instance), int(key.turn_no), key.ordinal, id_random(key.instance))
}

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<TaskRow, Error> {
    let spec: Packed = row.unpacked(22, TABLE)?;
    let lease = match (row.text_if(17)?, row.instant_if(18, TABLE)?) {
        (Some(worker), Some(until)) => {
            Some(LeaseRow { worker, until, timeout_at: row.instant_if(19, TABLE)? })
        }
        (None, None) => None,
        _ => return Err(damaged(TABLE, "half a lease")),
    };
    Ok(TaskRow {
        id: TaskId(row.effect(0, TABLE)?),
        spec: TaskSpec {
            kind: row.named(4, TABLE, kind)?,
            queue: row.text(5)?,
            name: row.text(6)?,
            priority: i32::try_from(row.integer(7)?).map_err(|e| damaged(TABLE, e))?,
            detached: row.flag(13)?,
            element: spec.element,
            input: spec.input,
            headers: spec.headers,
            retry: spec.retry,
            timeout_ms: spec.timeout_ms,
            deadline_at: spec.deadline_at,
            assignee: spec.assignee,
        },
        state: row.named(8, TABLE, TaskState::from_name)?,
        available_at: row.instant(9, TABLE)?,
        created_at: row.instant(10, TABLE)?,
        deadline_at: row.instant_if(11, TABLE)?,
        definition: DefinitionId(row.number(12)?),
        claims: row.count(14, TABLE)?,
        attempt: row.count(15, TABLE)?,
        expiries: row.count(16, TABLE)?,
        lease,
        assignee: row.text_if(20)?,
        outcome: row.unpacked_if(21, TABLE)?,
    })
}

/// Reads a row selected with `waiting_columns!`.
pub(crate) fn waiting(row: &impl Columns) -> Result<WaitingTask, Error> {
    Ok(WaitingTask {
        id: TaskId(row.effect(0, TABLE)?),
        kind: row.named(4, TABLE, kind)?,
        queue: row.text(5)?,
        state: row.named(6, TABLE, TaskState::from_name)?,
        available_at: row.instant(7, TABLE)?,
        lease_until: row.instant_if(8, TABLE)?,
        timeout_at: row.instant_if(9, TABLE)?,
    })
}

pub(crate) fn kind_name(kind: TaskKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("worker", |(_, name)| name)
}

fn kind(name: &str) -> Option<TaskKind> {
    KINDS.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
}
