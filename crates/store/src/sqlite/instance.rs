//! Instances: the row that every turn rewrites, and its fence.

use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::store::{ChildRef, Error, InstanceRow, Phase};
use rusqlite::params;

use super::db::Db;
use crate::row::instance::{
    child, columns, counted, meta_column, open_column, parent_column, read, read_lenient,
    unfinished as unfinished_row,
};
use crate::row::{Columns, id_order, id_random, int, millis};

const INSERT: &str = "INSERT INTO instance (id_order, id_random, turn_no, phase, definition_id, \
     started_at, ended_at, deadline_at, last_history, key, state_format, open, meta, state, \
     parent_id_order) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
     ON CONFLICT DO NOTHING";

/// Most turns change no indexed column. A column that is named in SET has its index entry deleted
/// and inserted again even if the value stays the same, so this statement names none.
const TURN_SAME: &str = "UPDATE instance SET turn_no = ?3, started_at = ?4, deadline_at = ?5, \
     last_history = ?6, state_format = ?7, open = ?8, meta = ?9, state = ?10 \
     WHERE id_order = ?1 AND id_random = ?2 AND turn_no = ?11 AND phase = ?12 AND ended_at IS ?13 \
     AND definition_id = ?14 AND key IS ?15";

const TURN: &str = "UPDATE instance SET turn_no = ?3, started_at = ?4, deadline_at = ?5, \
     last_history = ?6, state_format = ?7, open = ?8, meta = ?9, state = ?10, \
     phase = ?12, ended_at = ?13, definition_id = ?14, key = ?15 \
     WHERE id_order = ?1 AND id_random = ?2 AND turn_no = ?11";

const TURN_IS: &str =
    "SELECT 1 FROM instance WHERE id_order = ?1 AND id_random = ?2 AND turn_no = ?3";

/// Where the instance is counted before its turn.
const COUNTED_AS: &str = "SELECT definition_id, phase FROM instance \
     WHERE id_order = ?1 AND id_random = ?2 AND turn_no = ?3";

const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.id_order = ?1 AND i.id_random = ?2"
);

const IS_LIVE: &str =
    "SELECT 1 FROM instance WHERE id_order = ?1 AND id_random = ?2 AND ended_at IS NULL";

const KEY_HOLDER: &str = "SELECT i.id_order, i.id_random FROM instance AS i \
     JOIN definition AS d ON d.id = i.definition_id \
     WHERE i.key = ?1 AND i.ended_at IS NULL AND d.name = ?2 ORDER BY i.id_order LIMIT 1";

const CHILDREN: &str = "SELECT id_order, id_random, meta FROM instance \
     WHERE parent_id_order = ?1 AND ended_at IS NULL";

const UNFINISHED: &str = "SELECT id_order, id_random, meta FROM instance \
     WHERE phase = 'starting' OR phase = 'yielding'";

#[cfg(test)]
pub(super) const ALL: &[&str] =
    &[INSERT, TURN_SAME, TURN, TURN_IS, COUNTED_AS, GET, IS_LIVE, KEY_HOLDER, CHILDREN, UNFINISHED];

/// Adds an instance; returns whether its id was free.
pub(super) fn insert(db: &Db<'_>, row: &InstanceRow) -> Result<bool, Error> {
    let inserted = db.run(
        INSERT,
        params![
            id_order(row.id),
            id_random(row.id),
            int(row.turn_no),
            row.phase.name(),
            int(row.definition.0),
            row.started_at.as_millis(),
            millis(row.ended_at),
            millis(row.deadline_at),
            int(row.last_history),
            row.key,
            row.state.format,
            open_column(&row.open),
            meta_column(&row.meta),
            &*row.state.bytes,
            parent_column(row),
        ],
    )?;
    Ok(inserted == 1)
}

/// What became of an attempt to advance an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advance {
    /// It is not at the expected turn.
    Conflict,
    /// Definition and phase are as before.
    Same,
    /// Its definition and phase were these.
    Changed((DefinitionId, Phase)),
}

/// Replaces the row if it is still at the expected turn (I2).
pub(super) fn advance(db: &Db<'_>, row: &InstanceRow, expected: u64) -> Result<Advance, Error> {
    let (open, meta) = (open_column(&row.open), meta_column(&row.meta));
    let update = |sql: &str| {
        db.run(
            sql,
            params![
                id_order(row.id),
                id_random(row.id),
                int(row.turn_no),
                row.started_at.as_millis(),
                millis(row.deadline_at),
                int(row.last_history),
                row.state.format,
                open,
                meta,
                &*row.state.bytes,
                int(expected),
                row.phase.name(),
                millis(row.ended_at),
                int(row.definition.0),
                row.key,
            ],
        )
    };
    // An end always changes indexed columns.
    if !row.phase.is_ended() && update(TURN_SAME)? == 1 {
        return Ok(Advance::Same);
    }
    let key = params![id_order(row.id), id_random(row.id), int(expected)];
    let old = db.first(COUNTED_AS, key, |row| counted(row, 0, 1))?;
    match old {
        Some(old) if update(TURN)? == 1 => Ok(Advance::Changed(old)),
        _ => Ok(Advance::Conflict),
    }
}

/// Whether the instance is at this turn.
pub(super) fn stands_at(db: &Db<'_>, id: InstanceId, turn_no: u64) -> Result<bool, Error> {
    let found =
        db.first(TURN_IS, params![id_order(id), id_random(id), int(turn_no)], |_| Ok(()))?;
    Ok(found.is_some())
}

pub(super) fn get(db: &Db<'_>, id: InstanceId) -> Result<Option<InstanceRow>, Error> {
    db.first(GET, params![id_order(id), id_random(id)], |row| read(row))
}

/// The decodable parts of an instance.
pub(super) fn get_lenient(db: &Db<'_>, id: InstanceId) -> Result<Option<InstanceRow>, Error> {
    db.first(GET, params![id_order(id), id_random(id)], |row| read_lenient(row))
}

pub(super) fn is_live(db: &Db<'_>, id: InstanceId) -> Result<bool, Error> {
    Ok(db.first(IS_LIVE, params![id_order(id), id_random(id)], |_| Ok(()))?.is_some())
}

/// The live instance of a definition name that has the business key.
pub(super) fn key_holder(
    db: &Db<'_>,
    definition: &str,
    key: &str,
) -> Result<Option<InstanceId>, Error> {
    db.first(KEY_HOLDER, params![key, definition], |row| row.instance(0, 1))
}

/// Live children in the order of the effects that started them.
pub(super) fn children(db: &Db<'_>, parent: InstanceId) -> Result<Vec<ChildRef>, Error> {
    let mut children =
        db.some(CHILDREN, [id_order(parent)], usize::MAX, |row| child(row, parent))?;
    children.sort_by_key(|child| child.key);
    Ok(children)
}

/// Instances that continue without an event: before their first turn, or yielding.
pub(super) fn unfinished(db: &Db<'_>) -> Result<Vec<InstanceId>, Error> {
    db.some(UNFINISHED, [], usize::MAX, |row| unfinished_row(row))
}
