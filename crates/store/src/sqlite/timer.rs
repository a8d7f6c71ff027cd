//! Armed timers, clustered by due time.

use meantime_core::{InstanceId, TimerId, Timestamp};
use meantime_kernel::store::{Error, Page, TimerCount, TimerFilter, TimerKey, TimerRow};
use rusqlite::params;

use super::db::Db;
use super::instance;
use crate::row::timer::{columns, key_columns, keys_of, matches, no_deadline_first, read};
use crate::row::{Columns, id_order, id_random, int};

const INSERT: &str = "INSERT OR REPLACE INTO timer \
     (frozen, due_at, id_order, turn_no, ordinal, id_random, kind, definition_id, element) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const DELETE: &str = "DELETE FROM timer WHERE frozen = ?1 AND due_at = ?2 AND id_order = ?3 \
     AND turn_no = ?4 AND ordinal = ?5 AND id_random = ?6";
const MOVE: &str = "UPDATE OR REPLACE timer SET frozen = ?7, due_at = ?8 WHERE frozen = ?1 \
     AND due_at = ?2 AND id_order = ?3 AND turn_no = ?4 AND ordinal = ?5 AND id_random = ?6";
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM timer WHERE frozen = ?1 AND due_at = ?2 AND id_order = ?3 AND turn_no = ?4 \
     AND ordinal = ?5 AND id_random = ?6"
);
const RANGE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM timer WHERE frozen = ?1 AND (due_at, id_order, turn_no, ordinal) > (?2, ?3, ?4, ?5) AND \
         due_at < ?6 \
     ORDER BY due_at, id_order, turn_no, ordinal"
);
const FIRING: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM timer WHERE frozen = ?1 AND (due_at, id_order, turn_no, ordinal) > (?2, ?3, ?4, ?5) AND \
         due_at < ?6 AND ",
    no_deadline_first!(),
    " ORDER BY due_at, id_order, turn_no, ordinal"
);
const COUNT: &str = concat!(
    "SELECT (due_at - ?1) / ?3, count(*) FROM timer WHERE frozen = 0 AND due_at >= ?1 \
     AND due_at < ?2 AND (definition_id IN (SELECT value FROM json_each(?4))) <> ?5 AND ",
    no_deadline_first!(),
    " GROUP BY 1 ORDER BY 1"
);

#[cfg(test)]
pub(super) const ALL: &[&str] = &[INSERT, DELETE, MOVE, GET, RANGE, FIRING, COUNT];

pub(super) fn insert(db: &Db<'_>, row: &TimerRow) -> Result<(), Error> {
    let key = row.id.0;
    db.run(
        INSERT,
        params![
            row.frozen,
            row.due_at.as_millis(),
            id_order(key.instance),
            int(key.turn_no),
            key.ordinal,
            id_random(key.instance),
            row.kind.name(),
            int(row.definition.0),
            row.element,
        ],
    )?;
    Ok(())
}

pub(super) fn delete(db: &Db<'_>, key: TimerKey) -> Result<(), Error> {
    db.run(DELETE, key_columns(key)).map(drop)
}

/// Moves, freezes or releases a timer.
pub(super) fn relocate(db: &Db<'_>, from: TimerKey, to: TimerKey) -> Result<(), Error> {
    let (frozen, due_at, id_order, turn_no, ordinal, id_random) = key_columns(from);
    let to_at = to.due_at.as_millis();
    let values = params![frozen, due_at, id_order, turn_no, ordinal, id_random, to.frozen, to_at];
    db.run(MOVE, values).map(drop)
}

pub(super) fn get(db: &Db<'_>, key: TimerKey) -> Result<Option<TimerRow>, Error> {
    db.first(GET, key_columns(key), |row| read(row))
}

/// Timers that can fire, in due order, after a key.
pub(super) fn due(
    db: &Db<'_>,
    after: Option<TimerKey>,
    limit: usize,
) -> Result<Vec<TimerRow>, Error> {
    // No timer after a frozen key can fire.
    if after.is_some_and(|key| key.frozen) {
        return Ok(Vec::new());
    }
    range(db, false, after, &TimerFilter::default(), limit)
}

/// A page of timers in due order, frozen ones last.
pub(super) fn list(
    db: &Db<'_>,
    filter: &TimerFilter,
    page: Page<TimerKey>,
) -> Result<Vec<TimerRow>, Error> {
    if let Some(instance) = filter.instance {
        return of_instance(db, instance, filter, page);
    }
    let mut rows = Vec::new();
    for frozen in [false, true] {
        if page.after.is_some_and(|after| after.frozen && !frozen) {
            continue;
        }
        let after = page.after.filter(|after| after.frozen == frozen);
        rows.extend(range(db, frozen, after, filter, page.limit - rows.len())?);
    }
    Ok(rows)
}

/// How many timers will fire in each part of a window.
pub(super) fn count(db: &Db<'_>, query: &TimerCount) -> Result<Vec<(u64, u64)>, Error> {
    let ids: Vec<String> = query.definitions.iter().map(|id| id.0.to_string()).collect();
    let ids = format!("[{}]", ids.join(","));
    let (from, to) = (query.from.as_millis(), query.to.as_millis());
    let values = params![from, to, query.bucket_ms.max(1), ids, query.others];
    db.some(COUNT, values, usize::MAX, |row| Ok(Some((row.number(0)?, row.number(1)?))))
}

/// Timers of one instance are listed in its open list: no index by instance is needed.
fn of_instance(
    db: &Db<'_>,
    id: InstanceId,
    filter: &TimerFilter,
    page: Page<TimerKey>,
) -> Result<Vec<TimerRow>, Error> {
    let Some(owner) = instance::get(db, id)? else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for key in keys_of(&owner, filter, page) {
        if rows.len() == page.limit {
            break;
        }
        rows.extend(get(db, key)?.filter(|row| matches(filter, row)));
    }
    Ok(rows)
}

fn range(
    db: &Db<'_>,
    frozen: bool,
    after: Option<TimerKey>,
    filter: &TimerFilter,
    limit: usize,
) -> Result<Vec<TimerRow>, Error> {
    let from = filter.due_from.unwrap_or(Timestamp::MIN);
    let before = filter.due_before.map_or(i64::MAX, Timestamp::as_millis);
    // Orders and turn numbers are not negative, so -1 comes before every key of its instant.
    let (due_at, id_order, turn_no, ordinal) = match after.filter(|after| after.due_at >= from) {
        None => (from.as_millis(), -1, -1, -1),
        Some(TimerKey { due_at, id: TimerId(key), .. }) => {
            (due_at.as_millis(), id_order(key.instance), int(key.turn_no), i64::from(key.ordinal))
        }
    };
    let statement = if filter.before_deadline { FIRING } else { RANGE };
    db.some(statement, params![frozen, due_at, id_order, turn_no, ordinal, before], limit, |row| {
        read(row).map(|row| Some(row).filter(|row| matches(filter, row)))
    })
}
