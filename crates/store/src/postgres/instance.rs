//! Instances: the row that every turn rewrites, and its fence.

use std::collections::BTreeMap;

use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::store::{ChildRef, Error, InstanceRow, Partition, Phase};

use super::connection::{Call, Connection, QueryAnswer, QueryError, arrays, values};
use super::text::text_if;
use crate::row::instance::{
    child, columns, meta_column, open_column, parent_column, read, read_lenient,
    unfinished as unfinished_row,
};
use crate::row::instance_count::Counts;
use crate::row::{Columns, id_order, id_random, int, millis};

const INSERT: &str = "INSERT INTO instance (id_order, id_random, turn_no, phase, definition_id, \
     started_at, ended_at, deadline_at, last_history, key, state_format, open, meta, state, \
     parent_id_order) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], \
     $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], \
     $11::integer[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bigint[]) \
     ON CONFLICT (id_order) DO NOTHING RETURNING id_order";

const TURN: &str = "UPDATE instance AS i SET turn_no = n.turn_no, phase = n.phase, \
     definition_id = n.definition_id, started_at = n.started_at, ended_at = n.ended_at, \
     deadline_at = n.deadline_at, last_history = n.last_history, key = n.key, \
     state_format = n.state_format, open = n.open, meta = n.meta, state = n.state \
     FROM (SELECT *, (SELECT ctid FROM instance AS i WHERE i.id_order = u.id_order \
     AND i.id_random = u.id_random AND i.turn_no = u.expected) AS row_id \
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], \
     $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::integer[], \
     $12::bytea[], $13::bytea[], $14::bytea[], $15::bigint[]) \
     AS u (id_order, id_random, turn_no, phase, definition_id, started_at, ended_at, deadline_at, \
     last_history, key, state_format, open, meta, state, expected)) AS n \
     WHERE i.ctid = n.row_id";

// Sorted by id, and without waiting for locks: another transaction holds a row only briefly, and
// the machine tries it again.
const LOCK_AND_FETCH: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.id_order = ANY ($1::bigint[]) ORDER BY i.id_order \
     FOR NO KEY UPDATE SKIP LOCKED"
);
const LOCK: &str = "SELECT id_order, id_random, turn_no, phase, definition_id FROM instance \
     WHERE id_order = ANY ($1::bigint[]) \
     ORDER BY id_order FOR NO KEY UPDATE SKIP LOCKED";
const WHICH: &str = "SELECT id_order, id_random FROM instance WHERE id_order = ANY ($1::bigint[])";
const GET_ALL: &str =
    concat!("SELECT ", columns!(), " FROM instance AS i WHERE i.id_order = ANY ($1::bigint[])");
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.id_order = $1 AND i.id_random = $2"
);
const LIVE: &str = "SELECT id_order, id_random FROM instance \
     WHERE id_order = ANY ($1::bigint[]) AND ended_at IS NULL";
const KEY_HOLDERS: &str = "SELECT (SELECT name FROM definition WHERE id = i.definition_id), \
     i.key, i.id_order, i.id_random FROM instance AS i \
     WHERE i.key = ANY ($1::text[]) AND i.ended_at IS NULL";
const CHILDREN: &str = "SELECT id_order, id_random, meta, parent_id_order FROM instance \
     WHERE parent_id_order = ANY ($1::bigint[]) AND ended_at IS NULL";
const UNFINISHED: &str = "SELECT id_order, id_random, meta FROM instance \
     WHERE phase IN ('starting', 'yielding') AND (id_random & 255) % $1 = $2";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[
    INSERT,
    TURN,
    LOCK_AND_FETCH,
    LOCK,
    WHICH,
    GET_ALL,
    GET,
    LIVE,
    KEY_HOLDERS,
    CHILDREN,
    UNFINISHED,
];

/// The changes of a plan to instances.
#[derive(Default)]
pub(super) struct Changes<'a> {
    inserts: BTreeMap<InstanceId, &'a InstanceRow>,
    /// The last row of each, with the turn number that it had before the plan.
    turns: BTreeMap<InstanceId, (u64, &'a InstanceRow)>,
    /// Instances that these changes start or end.
    pub(super) counts: Counts,
}

impl<'a> Changes<'a> {
    pub(super) fn insert(&mut self, row: &'a InstanceRow) {
        self.counts.insert(row);
        self.inserts.insert(row.id, row);
    }

    /// `locked` is where the instance was counted when it was locked.
    pub(super) fn turn(
        &mut self,
        row: &'a InstanceRow,
        expected: u64,
        locked: Option<(DefinitionId, Phase)>,
    ) {
        let last = self.inserts.get(&row.id).or(self.turns.get(&row.id).map(|(_, last)| last));
        let old = last.map(|last| (last.definition, last.phase)).or(locked);
        if let Some(old) = old {
            self.counts.turn(old, row);
        }
        if let Some(new) = self.inserts.get_mut(&row.id) {
            *new = row;
        } else {
            self.turns.entry(row.id).and_modify(|(_, last)| *last = row).or_insert((expected, row));
        }
    }

    /// How many rows the statements of [`Self::calls`] must change, in order.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.inserts.len(), self.turns.len())
    }

    pub(super) fn insert_call(&self) -> Option<Call<'_>> {
        let rows: Vec<&InstanceRow> = self.inserts.values().copied().collect();
        let params = arrays!(rows, |row| [
            id_order(row.id),
            id_random(row.id),
            int(row.turn_no),
            row.phase.name(),
            int(row.definition.0),
            row.started_at.as_millis(),
            millis(row.ended_at),
            millis(row.deadline_at),
            int(row.last_history),
            text_if(row.key.as_deref()),
            i32::from(row.state.format),
            open_column(&row.open),
            meta_column(&row.meta),
            &*row.state.bytes,
            parent_column(row),
        ]);
        (!rows.is_empty()).then(|| Call::new(INSERT, params))
    }

    pub(super) fn turn_call(&self) -> Option<Call<'_>> {
        let rows: Vec<&(u64, &InstanceRow)> = self.turns.values().collect();
        let params = arrays!(rows, |it| [
            id_order(it.1.id),
            id_random(it.1.id),
            int(it.1.turn_no),
            it.1.phase.name(),
            int(it.1.definition.0),
            it.1.started_at.as_millis(),
            millis(it.1.ended_at),
            millis(it.1.deadline_at),
            int(it.1.last_history),
            text_if(it.1.key.as_deref()),
            i32::from(it.1.state.format),
            open_column(&it.1.open),
            meta_column(&it.1.meta),
            &*it.1.state.bytes,
            int(it.0),
        ]);
        (!rows.is_empty()).then(|| Call::new(TURN, params))
    }

    /// Ids for which the answer to [`Self::insert_call`] shows that a row existed already.
    pub(super) fn taken_ids(&self, answer: &QueryAnswer) -> Result<Vec<InstanceId>, Error> {
        let inserted = answer.read(|row| row.integer(0))?;
        let is_new = |id: &InstanceId| inserted.contains(&id_order(*id));
        Ok(self.inserts.keys().copied().filter(|id| !is_new(id)).collect())
    }
}

/// Reads and locks instances.
pub(super) fn lock_and_fetch(ids: &[InstanceId]) -> Call<'static> {
    Call::new(LOCK_AND_FETCH, values![orders(ids)])
}

/// Locks instances; the answer has their ids, turn numbers, phases and definitions.
pub(super) fn lock(ids: &[InstanceId]) -> Call<'static> {
    Call::new(LOCK, values![orders(ids)])
}

/// Reads instances without locking them.
pub(super) fn get_all(ids: &[InstanceId]) -> Call<'static> {
    Call::new(GET_ALL, values![orders(ids)])
}

/// Which instances exist, locked or not.
pub(super) fn which(ids: &[InstanceId]) -> Call<'static> {
    Call::new(WHICH, values![orders(ids)])
}

/// Which instances have not ended.
pub(super) fn live(ids: &[InstanceId]) -> Call<'static> {
    Call::new(LIVE, values![orders(ids)])
}

fn orders(ids: &[InstanceId]) -> Vec<i64> {
    ids.iter().copied().map(id_order).collect()
}

/// Live instances that have one of the business keys.
pub(super) fn key_holders(keys: &[&str]) -> Call<'static> {
    let keys: Vec<_> = keys.iter().map(|key| super::text::text(key).into_owned()).collect();
    Call::new(KEY_HOLDERS, values![keys])
}

/// Reads an answer to [`key_holders`].
pub(super) fn read_holders(
    answer: &QueryAnswer,
) -> Result<BTreeMap<(String, String), InstanceId>, Error> {
    let mut read = answer.read(|row| Ok(((row.text(0)?, row.text(1)?), row.instance(2, 3)?)))?;
    // If there are several, the oldest counts.
    read.sort_unstable_by_key(|(_, id)| std::cmp::Reverse(*id));
    Ok(read.into_iter().collect())
}

/// Live children of the parents.
pub(super) fn children(parents: &[InstanceId]) -> Call<'static> {
    Call::new(CHILDREN, values![orders(parents)])
}

/// Reads the children of one parent from an answer to [`children`], in the order of the effects
/// that started them.
pub(super) fn read_children(
    answer: &QueryAnswer,
    parent: InstanceId,
) -> Result<Vec<ChildRef>, Error> {
    let mut found = Vec::new();
    for row in &answer.rows {
        if row.integer(3)? == id_order(parent) {
            found.extend(child(row, parent)?);
        }
    }
    found.sort_by_key(|child| child.key);
    Ok(found)
}

/// Live children of one parent.
pub(super) async fn children_of(
    connection: &Connection,
    parent: InstanceId,
) -> Result<Vec<ChildRef>, QueryError> {
    let answers = connection.run(&[children(&[parent])]).await?;
    let found = answers.first().map(|answer| read_children(answer, parent)).transpose()?;
    Ok(found.unwrap_or_default())
}

/// Reads the decodable parts of each row.
pub(super) fn read_rows(answer: &QueryAnswer) -> Result<Vec<InstanceRow>, Error> {
    answer.read(read_lenient)
}

pub(super) async fn get(
    connection: &Connection,
    id: InstanceId,
) -> Result<Option<InstanceRow>, QueryError> {
    let answer = connection.one(GET, values![id_order(id), id_random(id)]).await?;
    Ok(answer.first(read)?)
}

/// The decodable parts of an instance.
pub(super) async fn get_lenient(
    connection: &Connection,
    id: InstanceId,
) -> Result<Option<InstanceRow>, QueryError> {
    let answer = connection.one(GET, values![id_order(id), id_random(id)]).await?;
    Ok(answer.first(read_lenient)?)
}

/// Instances of a partition that continue without an event: before their first turn, or yielding.
pub(super) fn unfinished(partition: Partition) -> Call<'static> {
    Call::new(UNFINISHED, values![i64::from(partition.count.max(1)), i64::from(partition.index)])
}

pub(super) fn read_unfinished(answer: &QueryAnswer) -> Result<Vec<InstanceId>, Error> {
    Ok(answer.read(unfinished_row)?.into_iter().flatten().collect())
}
