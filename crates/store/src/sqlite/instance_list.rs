//! Lists of instances, newest first: which index serves which filter.

use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::store::{Error, InstanceFilter, InstanceRow, Page, Phase};
use rusqlite::{Row, params};

use super::db::Db;
use super::definition;
use crate::row::instance::{UNUSUAL_PHASES, columns, matches, read_lenient as read_row};
use crate::row::{int, ord};

const TAGGED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance_tag AS t CROSS JOIN instance AS i ON i.ord = t.ord \
     WHERE t.tag = ?1 AND t.ord < ?2 ORDER BY t.ord DESC"
);
const KEYED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i INDEXED BY instance_key \
     WHERE i.key = ?1 AND i.ord < ?2 ORDER BY i.ord DESC"
);
const LIVE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i INDEXED BY instance_live \
     WHERE i.definition_id = ?1 AND i.ended_at IS NULL AND i.ord < ?2 ORDER BY i.ord DESC"
);
const UNUSUAL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i INDEXED BY instance_unusual \
     WHERE (phase = 'starting' OR phase = 'yielding' OR phase = 'failed' OR phase = 'cancelled') \
     AND i.phase = ?1 AND i.ord < ?2 ORDER BY i.ord DESC"
);
const TROUBLED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM incident AS t INDEXED BY incident_instance CROSS JOIN instance AS i ON i.ord = t.ord \
     WHERE t.ord < ?1 ORDER BY t.ord DESC"
);
const NEWEST: &str =
    concat!("SELECT ", columns!(), " FROM instance AS i WHERE i.ord < ?1 ORDER BY i.ord DESC");

#[cfg(test)]
pub(super) const ALL: &[&str] = &[TAGGED, KEYED, LIVE, UNUSUAL, TROUBLED, NEWEST];

/// A page of instances. Whatever no index holds is filtered while reading.
pub(super) fn list(
    db: &Db<'_>,
    filter: &InstanceFilter,
    page: Page<InstanceId>,
) -> Result<Vec<InstanceRow>, Error> {
    let before = page.after.map_or(i64::MAX, ord);
    let read = |row: &Row<'_>| {
        if matches(filter, row)? { read_row(row).map(Some) } else { Ok(None) }
    };
    let only = |phases: &dyn Fn(&Phase) -> bool| {
        !filter.phases.is_empty() && filter.phases.iter().all(phases)
    };
    if let Some(tag) = &filter.tag {
        return db.some(TAGGED, params![tag, before], page.limit, read);
    }
    if let Some(key) = &filter.key {
        return db.some(KEYED, params![key, before], page.limit, read);
    }
    if filter.incident == Some(true) {
        // An instance comes once for each of its incidents. It has one, whatever its row counts.
        let filter = InstanceFilter { incident: None, ..filter.clone() };
        let mut seen = None;
        let read_once = |row: &Row<'_>| {
            let found = if matches(&filter, row)? { Some(read_row(row)?) } else { None };
            let found = found.filter(|found| seen != Some(found.id));
            seen = found.as_ref().map_or(seen, |found| Some(found.id));
            Ok(found)
        };
        return db.some(TROUBLED, [before], page.limit, read_once);
    }
    let mut rows = Vec::new();
    if only(&|phase| UNUSUAL_PHASES.contains(phase)) {
        let mut phases = filter.phases.clone();
        phases.sort_unstable();
        phases.dedup();
        for phase in phases {
            rows.extend(db.some(UNUSUAL, params![phase.name(), before], page.limit, read)?);
        }
    } else if only(&|phase| !phase.is_ended()) {
        let wanted = definitions(db, filter)?.into_iter();
        for DefinitionId(id) in wanted.filter(|id| !filter.except.contains(id)) {
            rows.extend(db.some(LIVE, [int(id), before], page.limit, read)?);
        }
    } else {
        return db.some(NEWEST, [before], page.limit, read);
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    rows.truncate(page.limit);
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
