//! Lists of instances, newest first, and the index for each filter.

use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::store::{Error, InstanceFilter, InstanceRow, Page};
use rusqlite::{Row, params};

use super::db::Db;
use super::definition;
use crate::row::instance::{UNUSUAL_PHASES, columns, matches, read_lenient as read_row};
use crate::row::{Columns as _, id_order, int};

const TAGGED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance_tag AS t CROSS JOIN instance AS i ON i.id_order = t.id_order \
     WHERE t.tag = ?1 AND t.id_order < ?2 ORDER BY t.id_order DESC"
);
const KEYED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i INDEXED BY instance_key \
     WHERE i.key = ?1 AND i.id_order < ?2 ORDER BY i.id_order DESC"
);
const LIVE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i INDEXED BY instance_live \
     WHERE i.definition_id = ?1 AND i.ended_at IS NULL AND i.id_order < ?2 ORDER BY i.id_order DESC"
);
const UNUSUAL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i INDEXED BY instance_unusual \
     WHERE (phase = 'starting' OR phase = 'yielding' OR phase = 'failed' OR phase = 'cancelled') \
     AND i.phase = ?1 AND i.id_order < ?2 ORDER BY i.id_order DESC"
);
const TROUBLED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM incident AS t INDEXED BY incident_instance CROSS JOIN instance AS i ON i.id_order = \
         t.id_order \
     WHERE t.id_order < ?1 ORDER BY t.id_order DESC"
);
const NEWEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.id_order < ?1 ORDER BY i.id_order DESC"
);

#[cfg(test)]
pub(super) const ALL: &[&str] = &[TAGGED, KEYED, LIVE, UNUSUAL, TROUBLED, NEWEST];

/// Rows that one transaction examines if no index fits the filter. A transaction that examines all
/// of them would prevent the log from being checkpointed as long as it lasts, and a long log makes
/// every commit slow.
pub(super) const PART: usize = 1_000;

/// The matches in a part of the instances, and where the next part begins.
pub(super) struct Part {
    pub(super) rows: Vec<InstanceRow>,
    pub(super) rest: Option<i64>,
}

/// The beginning of a page.
pub(super) fn begin(page: &Page<InstanceId>) -> i64 {
    page.after.map_or(i64::MAX, id_order)
}

/// Instances before one, newest first. Conditions without an index are checked while reading.
pub(super) fn list(
    db: &Db<'_>,
    filter: &InstanceFilter,
    before: i64,
    limit: usize,
) -> Result<Part, Error> {
    if is_indexed(filter) {
        let rows = list_indexed(db, filter, before, limit)?;
        return Ok(Part { rows, rest: None });
    }
    let mut rows = Vec::new();
    let mut last = before;
    let looked_at = db.some(NEWEST, [before], PART, |row| {
        last = row.integer(0)?;
        if rows.len() < limit && matches(filter, row)? {
            rows.push(read_row(row)?);
        }
        Ok(Some(()))
    })?;
    let is_more = looked_at.len() == PART && rows.len() < limit;
    Ok(Part { rows, rest: is_more.then_some(last) })
}

/// Whether an index covers the filter, or most of it.
fn is_indexed(filter: &InstanceFilter) -> bool {
    let by_phase = !filter.phases.is_empty()
        && (filter.phases.iter().all(|phase| UNUSUAL_PHASES.contains(phase))
            || filter.phases.iter().all(|phase| !phase.is_ended()));
    filter.tag.is_some() || filter.key.is_some() || filter.incident == Some(true) || by_phase
}

fn list_indexed(
    db: &Db<'_>,
    filter: &InstanceFilter,
    before: i64,
    limit: usize,
) -> Result<Vec<InstanceRow>, Error> {
    let read = |row: &Row<'_>| {
        if matches(filter, row)? { read_row(row).map(Some) } else { Ok(None) }
    };
    if let Some(tag) = &filter.tag {
        return db.some(TAGGED, params![tag, before], limit, read);
    }
    if let Some(key) = &filter.key {
        return db.some(KEYED, params![key, before], limit, read);
    }
    if filter.incident == Some(true) {
        // An instance appears once for each of its incidents, whatever its row counts.
        let filter = InstanceFilter { incident: None, ..filter.clone() };
        let mut seen = None;
        let read_once = |row: &Row<'_>| {
            let found = if matches(&filter, row)? { Some(read_row(row)?) } else { None };
            let found = found.filter(|found| seen != Some(found.id));
            seen = found.as_ref().map_or(seen, |found| Some(found.id));
            Ok(found)
        };
        return db.some(TROUBLED, [before], limit, read_once);
    }
    let mut rows = Vec::new();
    if filter.phases.iter().all(|phase| UNUSUAL_PHASES.contains(phase)) {
        let mut phases = filter.phases.clone();
        phases.sort_unstable();
        phases.dedup();
        for phase in phases {
            rows.extend(db.some(UNUSUAL, params![phase.name(), before], limit, read)?);
        }
    } else {
        let wanted = definitions(db, filter)?.into_iter();
        for DefinitionId(id) in wanted.filter(|id| !filter.except.contains(id)) {
            rows.extend(db.some(LIVE, [int(id), before], limit, read)?);
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    rows.truncate(limit);
    Ok(rows)
}

fn definitions(db: &Db<'_>, filter: &InstanceFilter) -> Result<Vec<DefinitionId>, Error> {
    if filter.definitions.is_empty() {
        return definition::ids(db);
    }
    let mut ids = filter.definitions.clone();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
