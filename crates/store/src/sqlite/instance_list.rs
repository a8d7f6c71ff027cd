//! Lists of instances: candidates from an index, then their rows.

use meantime_core::TimerId;
use meantime_kernel::store::{
    Error, IncidentCount, InstanceFilter, InstanceMatches, InstancePosition, InstanceRow,
    InstanceSearch, InstanceSort,
};
use rusqlite::{Row, params};

use super::db::Db;
use super::definition;
use crate::row::instance::{columns, matches, read_lenient as read_row};
use crate::row::{Columns as _, int, timer};
use crate::search::{
    AccessPath, Candidates, IndexPart, due_bounds, end_bounds, end_position, id_bounds, key_bounds,
    key_position, part, residual, start_position,
};

/// A statement in both directions, ascending first: ids between ?1 and ?2, at most ?3.
macro_rules! ids {
    ($select:literal, $from:literal, $id:literal) => {
        [
            concat!(
                $select,
                " ",
                $id,
                " FROM ",
                $from,
                " AND ",
                $id,
                " > ?1 AND ",
                $id,
                " < ?2 ORDER BY ",
                $id,
                " LIMIT ?3"
            ),
            concat!(
                $select,
                " ",
                $id,
                " FROM ",
                $from,
                " AND ",
                $id,
                " > ?1 AND ",
                $id,
                " < ?2 ORDER BY ",
                $id,
                " DESC LIMIT ?3"
            ),
        ]
    };
}

const ALL_IDS: [&str; 2] = ids!("SELECT", "instance WHERE TRUE", "id_order");
const TAGGED: [&str; 2] = ids!("SELECT", "instance_tag WHERE tag = ?4", "id_order");
const KEYED: [&str; 2] =
    ids!("SELECT", "instance INDEXED BY instance_key WHERE key = ?4", "id_order");
const CHILDREN: [&str; 2] =
    ids!("SELECT", "instance INDEXED BY instance_child WHERE parent_id_order = ?4", "id_order");
const TREE: [&str; 2] = ids!(
    "WITH RECURSIVE member (id_order) AS (VALUES (?4) UNION ALL SELECT child.id_order \
     FROM member CROSS JOIN instance AS child INDEXED BY instance_child \
     ON child.parent_id_order = member.id_order) SELECT",
    "member WHERE TRUE",
    "id_order"
);
const WITH_INCIDENT: [&str; 2] =
    ids!("SELECT DISTINCT", "incident INDEXED BY incident_instance WHERE TRUE", "id_order");
const INCIDENT_CODE: [&str; 2] =
    ids!("SELECT DISTINCT", "incident INDEXED BY incident_code WHERE code = ?4", "id_order");
const PHASE: [&str; 2] = ids!(
    "SELECT",
    "instance INDEXED BY instance_unusual WHERE (phase = 'starting' OR phase = 'yielding' \
     OR phase = 'failed' OR phase = 'cancelled') AND phase = ?4",
    "id_order"
);
const LIVE: [&str; 2] = ids!(
    "SELECT",
    "instance INDEXED BY instance_live WHERE ended_at IS NULL AND definition_id = ?4",
    "id_order"
);

const ENDED: [&str; 2] = [
    "SELECT id_order, ended_at FROM instance INDEXED BY instance_ended WHERE ended_at >= ?1 \
     AND ended_at <= ?3 AND (ended_at, id_order) > (?1, ?2) AND (ended_at, id_order) < (?3, ?4) \
     ORDER BY ended_at, id_order LIMIT ?5",
    "SELECT id_order, ended_at FROM instance INDEXED BY instance_ended WHERE ended_at >= ?1 \
     AND ended_at <= ?3 AND (ended_at, id_order) > (?1, ?2) AND (ended_at, id_order) < (?3, ?4) \
     ORDER BY ended_at DESC, id_order DESC LIMIT ?5",
];
const KEYS: [&str; 2] = [
    "SELECT id_order, key FROM instance INDEXED BY instance_key WHERE key >= ?1 AND key <= ?3 \
     AND (key, id_order) > (?1, ?2) AND (key, id_order) < (?3, ?4) ORDER BY key, id_order LIMIT ?5",
    "SELECT id_order, key FROM instance INDEXED BY instance_key WHERE key >= ?1 AND key <= ?3 \
     AND (key, id_order) > (?1, ?2) AND (key, id_order) < (?3, ?4) \
     ORDER BY key DESC, id_order DESC LIMIT ?5",
];
const DUE: [&str; 2] = [
    "SELECT id_order, turn_no, ordinal, id_random, frozen, due_at FROM timer WHERE frozen = 0 \
     AND (due_at, id_order, turn_no, ordinal) > (?1, ?2, ?3, ?4) \
     AND (due_at, id_order, turn_no, ordinal) < (?5, ?6, ?7, ?8) \
     ORDER BY due_at, id_order, turn_no, ordinal LIMIT ?9",
    "SELECT id_order, turn_no, ordinal, id_random, frozen, due_at FROM timer WHERE frozen = 0 \
     AND (due_at, id_order, turn_no, ordinal) > (?1, ?2, ?3, ?4) \
     AND (due_at, id_order, turn_no, ordinal) < (?5, ?6, ?7, ?8) \
     ORDER BY due_at DESC, id_order DESC, turn_no DESC, ordinal DESC LIMIT ?9",
];

const GET: &str = concat!("SELECT ", columns!(), " FROM instance AS i WHERE i.id_order = ?1");
const HAS_TAG: &str = "SELECT 1 FROM instance_tag WHERE tag = ?1 AND id_order = ?2";
const HAS_CODE: &str =
    "SELECT 1 FROM incident INDEXED BY incident_code WHERE code = ?1 AND id_order = ?2";
const CODES: &str = "SELECT t.code, i.definition_id, count(*) FROM (SELECT code, id_order \
     FROM incident ORDER BY id LIMIT ?1) AS t CROSS JOIN instance AS i ON i.id_order = t.id_order \
     GROUP BY t.code, i.definition_id ORDER BY t.code, i.definition_id";

#[cfg(test)]
pub(super) fn all() -> Vec<&'static str> {
    let both = [
        ALL_IDS,
        TAGGED,
        KEYED,
        CHILDREN,
        TREE,
        WITH_INCIDENT,
        INCIDENT_CODE,
        PHASE,
        LIVE,
        ENDED,
        KEYS,
        DUE,
    ];
    both.into_iter().flatten().chain([GET, HAS_TAG, HAS_CODE, CODES]).collect()
}

/// Examines some candidates and returns those that match.
pub(super) fn search(db: &Db<'_>, search: &InstanceSearch) -> Result<InstanceMatches, Error> {
    let filter = residual(search);
    candidates(db, search)?.answer(search, |id_order| row(db, &filter, id_order))
}

/// The row of an instance, if it matches.
fn row(db: &Db<'_>, filter: &InstanceFilter, id_order: i64) -> Result<Option<InstanceRow>, Error> {
    let read = |row: &Row<'_>| {
        if matches(filter, row)? { read_row(row).map(Some) } else { Ok(None) }
    };
    let Some(row) = db.first(GET, [id_order], read)?.flatten() else { return Ok(None) };
    let is_there = |sql, what: &String| db.first(sql, params![what, id_order], |_| Ok(()));
    for tag in &filter.tags {
        if is_there(HAS_TAG, tag)?.is_none() {
            return Ok(None);
        }
    }
    if let Some(code) = &filter.incident_code
        && is_there(HAS_CODE, code)?.is_none()
    {
        return Ok(None);
    }
    Ok(Some(row))
}

fn candidates(db: &Db<'_>, search: &InstanceSearch) -> Result<Candidates, Error> {
    let sources = match AccessPath::of(search) {
        AccessPath::Sorted => return sorted(db, search),
        AccessPath::Parts(sources) => sources,
        AccessPath::AllLive => {
            let ids = definition::ids(db)?.into_iter();
            let wanted = ids.filter(|id| !search.filter.except.contains(id));
            wanted.map(|id| IndexPart::Live(int(id.0))).collect()
        }
    };
    let part = part(search, sources.len());
    let parts = sources.iter().map(|source| ids_of(db, search, source, part));
    Ok(Candidates::merge(parts.collect::<Result<_, Error>>()?, search.descending))
}

/// Ids of one source.
fn ids_of(
    db: &Db<'_>,
    search: &InstanceSearch,
    source: &IndexPart,
    part: usize,
) -> Result<Candidates, Error> {
    let (low, high) = id_bounds(search);
    let count = i64::try_from(part).unwrap_or(i64::MAX);
    let read = |row: &Row<'_>| row.integer(0).map(start_position);
    let way = usize::from(search.descending);
    let of_text =
        |sql: [&str; 2], text: &str| db.all(sql[way], params![low, high, count, text], read);
    let of_number =
        |sql: [&str; 2], number: i64| db.all(sql[way], params![low, high, count, number], read);
    let found = match source {
        IndexPart::All => db.all(ALL_IDS[way], params![low, high, count], read),
        IndexPart::WithIncident => db.all(WITH_INCIDENT[way], params![low, high, count], read),
        IndexPart::Tag(tag) => of_text(TAGGED, tag),
        IndexPart::Key(key) => of_text(KEYED, key),
        IndexPart::IncidentCode(code) => of_text(INCIDENT_CODE, code),
        IndexPart::Phase(phase) => of_text(PHASE, phase.name()),
        IndexPart::Parent(parent) => of_number(CHILDREN, *parent),
        IndexPart::Tree(root) => of_number(TREE, *root),
        IndexPart::Live(definition) => of_number(LIVE, *definition),
    };
    Ok(Candidates::of_part(found?, part))
}

/// Positions in the index of an order.
fn sorted(db: &Db<'_>, search: &InstanceSearch) -> Result<Candidates, Error> {
    let part = part(search, 1);
    let count = i64::try_from(part).unwrap_or(i64::MAX);
    let way = usize::from(search.descending);
    let found = match search.sort {
        InstanceSort::Start => Vec::new(),
        InstanceSort::End => {
            let [low, high] = end_bounds(search);
            let params = params![low.0, low.1, high.0, high.1, count];
            db.all(ENDED[way], params, |row| {
                Ok(end_position(row.instant(1, "instance")?, row.integer(0)?))
            })?
        }
        InstanceSort::Key => {
            let [low, high] = key_bounds(search);
            let params = params![low.0, low.1, high.0, high.1, count];
            db.all(KEYS[way], params, |row| Ok(key_position(row.text(1)?, row.integer(0)?)))?
        }
        InstanceSort::Due => {
            let [low, high] = due_bounds(search);
            let params =
                params![low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3], count];
            db.all(DUE[way], params, |row| {
                let (_, key) = timer::read_key(row)?;
                let TimerId(effect) = key.id;
                Ok(InstancePosition::Due(key.due_at, effect))
            })?
        }
    };
    Ok(Candidates::of_part(found, part))
}

/// The codes of the oldest incidents, by definition.
pub(super) fn count_incidents(db: &Db<'_>, limit: usize) -> Result<Vec<IncidentCount>, Error> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    db.all(CODES, [limit], |row| {
        let definition = meantime_core::DefinitionId(row.number(1)?);
        Ok(IncidentCount { code: row.text(0)?, definition, count: row.number(2)? })
    })
}
