//! Armed timers, by due time.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{InstanceId, TimerId, Timestamp};
use meantime_kernel::store::{
    DueQuery, Page, Partition, TimerCount, TimerFilter, TimerKey, TimerRow,
};

use super::connection::{Call, Connection, QueryError, arrays, values};
use super::instance;
use super::text::text;
use crate::row::timer::{columns, key_columns, keys_of, matches, no_deadline_first, read};
use crate::row::{Columns, id_order, id_random, int};

const INSERT: &str = "INSERT INTO timer \
     (frozen, due_at, id_order, turn_no, ordinal, id_random, kind, definition_id, element) \
     SELECT * FROM unnest($1::boolean[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], \
     $6::bigint[], $7::text[], $8::bigint[], $9::text[]) \
     ON CONFLICT (frozen, due_at, id_order, turn_no, ordinal) DO UPDATE SET id_random = \
     excluded.id_random, \
     kind = excluded.kind, definition_id = excluded.definition_id, element = excluded.element";
const DELETE: &str = "DELETE FROM timer WHERE ctid = ANY (ARRAY( \
     SELECT (SELECT ctid FROM timer AS t WHERE t.frozen = k.frozen AND t.due_at = k.due_at \
     AND t.id_order = k.id_order AND t.turn_no = k.turn_no AND t.ordinal = k.ordinal \
     AND t.id_random = k.id_random) FROM unnest($1::boolean[], $2::bigint[], $3::bigint[], \
     $4::bigint[], $5::bigint[], $6::bigint[]) \
     AS k (frozen, due_at, id_order, turn_no, ordinal, id_random)))";
const MOVE: &str = "UPDATE timer AS t SET frozen = n.to_frozen, due_at = n.to_due_at \
     FROM (SELECT *, (SELECT ctid FROM timer AS t WHERE t.frozen = k.frozen \
     AND t.due_at = k.due_at AND t.id_order = k.id_order AND t.turn_no = k.turn_no \
     AND t.ordinal = k.ordinal AND t.id_random = k.id_random) AS row_id \
     FROM unnest($1::boolean[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], \
     $6::bigint[], $7::boolean[], $8::bigint[]) \
     AS k (frozen, due_at, id_order, turn_no, ordinal, id_random, to_frozen, to_due_at)) AS n \
     WHERE t.ctid = n.row_id";
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM unnest($1::boolean[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], \
     $6::bigint[]) AS k (k_frozen, k_due_at, k_id_order, k_turn_no, k_ordinal, k_id_random) \
     CROSS JOIN LATERAL (SELECT * FROM timer WHERE frozen = k_frozen AND due_at = k_due_at \
     AND id_order = k_id_order AND turn_no = k_turn_no AND ordinal = k_ordinal AND id_random = \
     k_id_random \
     OFFSET 0) AS t ORDER BY frozen, due_at, id_order, turn_no, ordinal"
);
const RANGE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM timer WHERE frozen = $1 AND (due_at, id_order, turn_no, ordinal) > ($2, $3, $4, $5) \
     AND due_at < $6 AND (id_random & 255) % $7 = $8 ORDER BY due_at, id_order, turn_no, ordinal \
     LIMIT $9"
);
const FIRING: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM timer WHERE frozen = $1 AND (due_at, id_order, turn_no, ordinal) > ($2, $3, $4, $5) \
     AND due_at < $6 AND (id_random & 255) % $7 = $8 AND ",
    no_deadline_first!(),
    " ORDER BY due_at, id_order, turn_no, ordinal LIMIT $9"
);
const COUNT: &str = concat!(
    "SELECT (due_at - $1) / $3, count(*) FROM timer WHERE NOT frozen AND due_at >= $1 \
     AND due_at < $2 AND (definition_id = ANY ($4::bigint[])) <> $5 AND ",
    no_deadline_first!(),
    " GROUP BY 1 ORDER BY 1"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[INSERT, DELETE, MOVE, GET, RANGE, FIRING, COUNT];

/// How many rows are read at a time if some of them may not match.
const STRIDE: usize = 1_000;

/// The changes of a plan to timers. New timers are written in due order, so that timers that are
/// due together are on the same pages.
#[derive(Default)]
pub(super) struct Changes<'a> {
    armed: BTreeMap<TimerKey, &'a TimerRow>,
    removed: BTreeSet<TimerKey>,
    /// Old and new keys.
    moved: BTreeMap<TimerKey, TimerKey>,
}

impl<'a> Changes<'a> {
    pub(super) fn insert(&mut self, row: &'a TimerRow) {
        self.armed.insert(row.key(), row);
    }

    pub(super) fn delete(&mut self, key: TimerKey) {
        self.armed.remove(&key);
        let origin = self.moved.iter().find(|(_, to)| **to == key).map(|(from, _)| *from);
        match origin {
            Some(from) => {
                self.moved.remove(&from);
                self.removed.insert(from);
            }
            None => {
                self.removed.insert(key);
            }
        }
    }

    pub(super) fn relocate(&mut self, from: TimerKey, to: TimerKey) {
        if let Some(row) = self.armed.remove(&from) {
            self.armed.insert(to, row);
            return;
        }
        let origin = self.moved.iter().find(|(_, at)| **at == from).map(|(origin, _)| *origin);
        self.moved.insert(origin.unwrap_or(from), to);
    }

    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        if !self.removed.is_empty() {
            let keys: Vec<_> = self.removed.iter().copied().map(key_columns).collect();
            let params = arrays!(keys, |key| [key.0, key.1, key.2, key.3, i64::from(key.4), key.5]);
            calls.push(Call::new(DELETE, params));
        }
        if !self.moved.is_empty() {
            let keys: Vec<_> =
                self.moved.iter().map(|(from, to)| (key_columns(*from), to)).collect();
            let params = arrays!(keys, |it| [
                it.0.0,
                it.0.1,
                it.0.2,
                it.0.3,
                i64::from(it.0.4),
                it.0.5,
                it.1.frozen,
                it.1.due_at.as_millis(),
            ]);
            calls.push(Call::new(MOVE, params));
        }
        if !self.armed.is_empty() {
            let rows: Vec<_> = self.armed.iter().collect();
            let params = arrays!(rows, |it| [
                it.0.frozen,
                it.0.due_at.as_millis(),
                id_order(it.1.id.0.instance),
                int(it.1.id.0.turn_no),
                i64::from(it.1.id.0.ordinal),
                id_random(it.1.id.0.instance),
                it.1.kind.name(),
                int(it.1.definition.0),
                text(&it.1.element),
            ]);
            calls.push(Call::new(INSERT, params));
        }
    }
}

/// Timers by their keys, in their order.
pub(super) async fn get(
    connection: &Connection,
    keys: &[TimerKey],
) -> Result<Vec<TimerRow>, QueryError> {
    let keys: Vec<_> = keys.iter().copied().map(key_columns).collect();
    let params = arrays!(keys, |key| [key.0, key.1, key.2, key.3, i64::from(key.4), key.5]);
    Ok(connection.one(GET, params).await?.read(read)?)
}

/// Timers that can fire, in due order.
pub(super) async fn due(
    connection: &Connection,
    query: DueQuery,
) -> Result<Vec<TimerRow>, QueryError> {
    // No timer after a frozen key can fire.
    if query.after.is_some_and(|key| key.frozen) {
        return Ok(Vec::new());
    }
    let before = query.before.map_or(i64::MAX, Timestamp::as_millis);
    let from = start(query.after, Timestamp::MIN);
    range(connection, RANGE, false, from, before, query.partition, query.limit).await
}

/// A page of timers in due order, frozen ones last.
pub(super) async fn list(
    connection: &Connection,
    filter: &TimerFilter,
    page: Page<TimerKey>,
) -> Result<Vec<TimerRow>, QueryError> {
    if let Some(id) = filter.instance {
        return of_instance(connection, id, filter, page).await;
    }
    let mut rows = Vec::new();
    for frozen in [false, true] {
        if page.after.is_some_and(|after| after.frozen && !frozen) {
            continue;
        }
        let after = page.after.filter(|after| after.frozen == frozen);
        let room = page.limit.saturating_sub(rows.len());
        rows.extend(matching(connection, frozen, after, filter, room).await?);
    }
    Ok(rows)
}

/// How many timers will fire in each part of a window.
pub(super) async fn count(
    connection: &Connection,
    query: &TimerCount,
) -> Result<Vec<(u64, u64)>, QueryError> {
    let ids: Vec<i64> = query.definitions.iter().map(|id| int(id.0)).collect();
    let (from, to) = (query.from.as_millis(), query.to.as_millis());
    let values = values![from, to, query.bucket_ms.max(1), ids, query.others];
    let found = connection.one(COUNT, values).await?;
    Ok(found.read(|row| Ok((row.number(0)?, row.number(1)?)))?)
}

async fn of_instance(
    connection: &Connection,
    id: InstanceId,
    filter: &TimerFilter,
    page: Page<TimerKey>,
) -> Result<Vec<TimerRow>, QueryError> {
    let Some(owner) = instance::get(connection, id).await? else { return Ok(Vec::new()) };
    let rows = get(connection, &keys_of(&owner, filter, page)).await?;
    Ok(rows.into_iter().filter(|row| matches(filter, row)).take(page.limit).collect())
}

/// Continues reading until enough rows match.
async fn matching(
    connection: &Connection,
    frozen: bool,
    mut after: Option<TimerKey>,
    filter: &TimerFilter,
    limit: usize,
) -> Result<Vec<TimerRow>, QueryError> {
    let before = filter.due_before.map_or(i64::MAX, Timestamp::as_millis);
    let statement = if filter.before_deadline { FIRING } else { RANGE };
    let mut found = Vec::new();
    while found.len() < limit {
        let from = start(after, filter.due_from.unwrap_or(Timestamp::MIN));
        let rows =
            range(connection, statement, frozen, from, before, Partition::ALL, STRIDE).await?;
        let is_end = rows.len() < STRIDE;
        after = rows.last().map(TimerRow::key);
        found.extend(rows.into_iter().filter(|row| matches(filter, row)));
        if is_end {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// The beginning of a range: after a key, but not before an instant. Orders and turn numbers are
/// not negative, so -1 comes before every key of its instant.
fn start(after: Option<TimerKey>, from: Timestamp) -> (i64, i64, i64, i64) {
    match after.filter(|after| after.due_at >= from) {
        None => (from.as_millis(), -1, -1, -1),
        Some(TimerKey { due_at, id: TimerId(key), .. }) => {
            (due_at.as_millis(), id_order(key.instance), int(key.turn_no), i64::from(key.ordinal))
        }
    }
}

async fn range(
    connection: &Connection,
    statement: &'static str,
    frozen: bool,
    (due_at, id_order, turn_no, ordinal): (i64, i64, i64, i64),
    before: i64,
    partition: Partition,
    limit: usize,
) -> Result<Vec<TimerRow>, QueryError> {
    let (of, part) = (i64::from(partition.count.max(1)), i64::from(partition.index));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = values![frozen, due_at, id_order, turn_no, ordinal, before, of, part, limit];
    Ok(connection.one(statement, values).await?.read(read)?)
}
