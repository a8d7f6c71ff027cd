//! Lists of instances, newest first: which index serves which filter.

use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::store::{Error, InstanceFilter, InstanceRow, Page, Phase};
use rusqlite::params;

use super::db::{Columns, Db, int, ord};
use super::definition;
use super::instance::{self, columns};

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
const NEWEST: &str =
    concat!("SELECT ", columns!(), " FROM instance AS i WHERE i.ord < ?1 ORDER BY i.ord DESC");

#[cfg(test)]
pub(super) const ALL: &[&str] = &[TAGGED, KEYED, LIVE, UNUSUAL, NEWEST];

const UNUSUAL_PHASES: &[Phase] =
    &[Phase::Starting, Phase::Yielding, Phase::Failed, Phase::Cancelled];

/// A page of instances. Whatever no index holds is filtered while reading.
pub(super) fn list(
    db: &Db<'_>,
    filter: &InstanceFilter,
    page: Page<InstanceId>,
) -> Result<Vec<InstanceRow>, Error> {
    let before = page.after.map_or(i64::MAX, ord);
    let read = |row: &Columns<'_, '_>| {
        if matches(filter, row)? { instance::read(row).map(Some) } else { Ok(None) }
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
    let mut rows = Vec::new();
    if only(&|phase| UNUSUAL_PHASES.contains(phase)) {
        let mut phases = filter.phases.clone();
        phases.sort_unstable();
        phases.dedup();
        for phase in phases {
            rows.extend(db.some(UNUSUAL, params![phase.name(), before], page.limit, read)?);
        }
    } else if only(&|phase| !phase.is_ended()) {
        for DefinitionId(id) in definitions(db, filter)? {
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

fn matches(filter: &InstanceFilter, row: &Columns<'_, '_>) -> Result<bool, Error> {
    let definition = DefinitionId(row.number(4)?);
    let started_at = row.instant(5, "instance")?;
    Ok((filter.definitions.is_empty() || filter.definitions.contains(&definition))
        && (filter.phases.is_empty() || filter.phases.contains(&instance::phase(row)?))
        && filter.started_from.is_none_or(|from| started_at >= from)
        && filter.started_before.is_none_or(|before| started_at < before)
        && match &filter.key {
            Some(key) => row.get::<Option<String>>(9)?.as_ref() == Some(key),
            None => true,
        })
}
