//! Lists of instances: candidates from an index, then their rows.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{DefinitionId, TimerId};
use meantime_kernel::store::{
    Error, IncidentCount, InstanceFilter, InstanceMatches, InstancePosition, InstanceRow,
    InstanceSearch, InstanceSort,
};

use super::connection::{Call, Connection, QueryError, values};
use super::definition;
use super::text::text;
use crate::row::instance::{columns, matches, read_lenient};
use crate::row::{Columns, id_order, int, timer};
use crate::search::{
    AccessPath, Candidates, IndexPart, due_bounds, end_bounds, end_position, id_bounds, key_bounds,
    key_position, part, residual, start_position,
};

/// A statement in both directions, ascending first: ids between $1 and $2, at most $3.
macro_rules! ids {
    ($select:literal, $from:literal) => {
        [
            concat!(
                $select,
                " id_order FROM ",
                $from,
                " AND id_order > $1 AND id_order < $2 ORDER BY id_order LIMIT $3"
            ),
            concat!(
                $select,
                " id_order FROM ",
                $from,
                " AND id_order > $1 AND id_order < $2 ORDER BY id_order DESC LIMIT $3"
            ),
        ]
    };
}

// A subquery with OFFSET is planned alone: the rows of one key or parent are found by its index and
// sorted, whatever the planner believes about their number.
const ALL_IDS: [&str; 2] = ids!("SELECT", "instance WHERE TRUE");
const TAGGED: [&str; 2] = ids!("SELECT", "instance_tag WHERE tag = $4");
const KEYED: [&str; 2] =
    ids!("SELECT", "(SELECT id_order FROM instance WHERE key = $4 OFFSET 0) AS k WHERE TRUE");
const CHILDREN: [&str; 2] = ids!(
    "SELECT",
    "(SELECT id_order FROM instance WHERE parent_id_order = $4 OFFSET 0) AS k WHERE TRUE"
);
const TREE: [&str; 2] = ids!(
    "WITH RECURSIVE member (id_order) AS (SELECT $4::bigint UNION ALL SELECT child.id_order \
     FROM member CROSS JOIN LATERAL (SELECT id_order FROM instance \
     WHERE parent_id_order = member.id_order OFFSET 0) AS child) SELECT",
    "member WHERE TRUE"
);
const WITH_INCIDENT: [&str; 2] = ids!("SELECT DISTINCT", "incident WHERE TRUE");
const INCIDENT_CODE: [&str; 2] =
    ids!("SELECT DISTINCT", "incident WHERE num_nulls(code) = 0 AND code = $4");
const PHASE: [&str; 2] = ids!(
    "SELECT",
    "instance WHERE phase IN ('starting', 'yielding', 'failed', 'cancelled') AND phase = $4"
);
const LIVE: [&str; 2] =
    ids!("SELECT", "instance WHERE num_nulls(ended_at) = 1 AND definition_id = $4");

const ENDED: [&str; 2] = [
    "SELECT id_order, ended_at FROM instance WHERE ended_at IS NOT NULL \
     AND (ended_at, id_order) > ($1, $2) AND (ended_at, id_order) < ($3, $4) \
     ORDER BY ended_at, id_order LIMIT $5",
    "SELECT id_order, ended_at FROM instance WHERE ended_at IS NOT NULL \
     AND (ended_at, id_order) > ($1, $2) AND (ended_at, id_order) < ($3, $4) \
     ORDER BY ended_at DESC, id_order DESC LIMIT $5",
];
const KEYS: [&str; 2] = [
    "SELECT id_order, key FROM instance WHERE key IS NOT NULL AND key >= $1 AND key <= $3 \
     AND (key, id_order) > ($1, $2) AND (key, id_order) < ($3, $4) ORDER BY key, id_order LIMIT $5",
    "SELECT id_order, key FROM instance WHERE key IS NOT NULL AND key >= $1 AND key <= $3 \
     AND (key, id_order) > ($1, $2) AND (key, id_order) < ($3, $4) \
     ORDER BY key DESC, id_order DESC LIMIT $5",
];
const DUE: [&str; 2] = [
    "SELECT id_order, turn_no, ordinal, id_random, frozen, due_at FROM timer WHERE frozen = FALSE \
     AND (due_at, id_order, turn_no, ordinal) > ($1, $2, $3::bigint, $4::bigint) \
     AND (due_at, id_order, turn_no, ordinal) < ($5, $6, $7::bigint, $8::bigint) \
     ORDER BY due_at, id_order, turn_no, ordinal LIMIT $9",
    "SELECT id_order, turn_no, ordinal, id_random, frozen, due_at FROM timer WHERE frozen = FALSE \
     AND (due_at, id_order, turn_no, ordinal) > ($1, $2, $3::bigint, $4::bigint) \
     AND (due_at, id_order, turn_no, ordinal) < ($5, $6, $7::bigint, $8::bigint) \
     ORDER BY due_at DESC, id_order DESC, turn_no DESC, ordinal DESC LIMIT $9",
];

const ROWS: &str =
    concat!("SELECT ", columns!(), " FROM instance AS i WHERE i.id_order = ANY ($1::bigint[])");
const TAGS: &str = "SELECT id_order, tag FROM instance_tag WHERE tag = ANY ($1::text[]) \
     AND id_order = ANY ($2::bigint[])";
const OF_CODE: &str = "SELECT DISTINCT id_order FROM incident WHERE num_nulls(code) = 0 AND code = $1 \
     AND id_order = ANY ($2::bigint[])";
const CODES: &str = "SELECT t.code, i.definition_id, count(*) FROM (SELECT code, id_order \
     FROM incident ORDER BY id LIMIT $1) AS t CROSS JOIN LATERAL (SELECT definition_id \
     FROM instance WHERE id_order = t.id_order OFFSET 0) AS i \
     GROUP BY t.code, i.definition_id ORDER BY t.code, i.definition_id";

#[cfg(test)]
pub(super) fn statements() -> Vec<&'static str> {
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
    both.into_iter().flatten().chain([ROWS, TAGS, OF_CODE, CODES]).collect()
}

/// Examines some candidates and returns those that match.
pub(super) async fn search(
    connection: &Connection,
    search: &InstanceSearch,
) -> Result<InstanceMatches, QueryError> {
    let candidates = candidates(connection, search).await?;
    let rows = rows(connection, &residual(search), &candidates).await?;
    // An instance with several timers is several candidates.
    Ok(candidates.answer(search, |id_order| Ok(rows.get(&id_order).cloned()))?)
}

/// The rows of candidates that match.
async fn rows(
    connection: &Connection,
    filter: &InstanceFilter,
    candidates: &Candidates,
) -> Result<BTreeMap<i64, InstanceRow>, QueryError> {
    let ids: BTreeSet<i64> =
        candidates.positions.iter().map(|position| id_order(position.instance())).collect();
    let ids: Vec<i64> = ids.into_iter().collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut calls = vec![Call::new(ROWS, values![ids.clone()])];
    if !filter.tags.is_empty() {
        let tags: Vec<String> = filter.tags.iter().map(|tag| text(tag).into_owned()).collect();
        calls.push(Call::new(TAGS, values![tags, ids.clone()]));
    }
    if let Some(code) = &filter.incident_code {
        calls.push(Call::new(OF_CODE, values![text(code).into_owned(), ids]));
    }
    let mut answers = connection.run(&calls).await?.into_iter();
    let mut found = BTreeMap::new();
    for row in answers.next().iter().flat_map(|answer| &answer.rows) {
        if matches(filter, row)? {
            found.insert(row.integer(0)?, read_lenient(row)?);
        }
    }
    if !filter.tags.is_empty()
        && let Some(answer) = answers.next()
    {
        let tagged = answer.read(|row| Ok((row.integer(0)?, row.text(1)?)))?;
        let tagged: BTreeSet<(i64, String)> = tagged.into_iter().collect();
        let has = |id: i64, tag: &String| tagged.contains(&(id, tag.clone()));
        found.retain(|id, _| filter.tags.iter().all(|tag| has(*id, tag)));
    }
    if filter.incident_code.is_some()
        && let Some(answer) = answers.next()
    {
        let with_code: BTreeSet<i64> = answer.read(|row| row.integer(0))?.into_iter().collect();
        found.retain(|id, _| with_code.contains(id));
    }
    Ok(found)
}

async fn candidates(
    connection: &Connection,
    search: &InstanceSearch,
) -> Result<Candidates, QueryError> {
    let sources = match AccessPath::of(search) {
        AccessPath::Sorted => return sorted(connection, search).await,
        AccessPath::Parts(sources) => sources,
        AccessPath::AllLive => {
            let ids = definition::ids(connection).await?.into_iter();
            let wanted = ids.filter(|id| !search.filter.except.contains(id));
            wanted.map(|id| IndexPart::Live(int(id.0))).collect()
        }
    };
    let part = part(search, sources.len());
    let calls: Vec<Call<'_>> = sources.iter().map(|source| ids_of(search, source, part)).collect();
    let answers = if calls.is_empty() { Vec::new() } else { connection.run(&calls).await? };
    let parts = answers.iter().map(|answer| {
        let found = answer.read(|row| row.integer(0).map(start_position))?;
        Ok(Candidates::of_part(found, part))
    });
    let parts = parts.collect::<Result<_, Error>>()?;
    Ok(Candidates::merge(parts, search.descending))
}

/// The statement for the ids of one source.
fn ids_of<'s>(search: &InstanceSearch, source: &'s IndexPart, part: usize) -> Call<'s> {
    let (low, high) = id_bounds(search);
    let count = i64::try_from(part).unwrap_or(i64::MAX);
    let way = usize::from(search.descending);
    let of_text = |sql: [&'static str; 2], what: &'s str| {
        Call::new(sql[way], values![low, high, count, text(what)])
    };
    let of_number = |sql: [&'static str; 2], number: i64| {
        Call::new(sql[way], values![low, high, count, number])
    };
    match source {
        IndexPart::All => Call::new(ALL_IDS[way], values![low, high, count]),
        IndexPart::WithIncident => Call::new(WITH_INCIDENT[way], values![low, high, count]),
        IndexPart::Tag(tag) => of_text(TAGGED, tag),
        IndexPart::Key(key) => of_text(KEYED, key),
        IndexPart::IncidentCode(code) => of_text(INCIDENT_CODE, code),
        IndexPart::Phase(phase) => of_text(PHASE, phase.name()),
        IndexPart::Parent(parent) => of_number(CHILDREN, *parent),
        IndexPart::Tree(root) => of_number(TREE, *root),
        IndexPart::Live(definition) => of_number(LIVE, *definition),
    }
}

/// Positions in the index of an order.
async fn sorted(
    connection: &Connection,
    search: &InstanceSearch,
) -> Result<Candidates, QueryError> {
    let part = part(search, 1);
    let count = i64::try_from(part).unwrap_or(i64::MAX);
    let way = usize::from(search.descending);
    let found = match search.sort {
        InstanceSort::Start => Vec::new(),
        InstanceSort::End => {
            let [low, high] = end_bounds(search);
            let values = values![low.0, low.1, high.0, high.1, count];
            connection
                .one(ENDED[way], values)
                .await?
                .read(|row| Ok(end_position(row.instant(1, "instance")?, row.integer(0)?)))?
        }
        InstanceSort::Key => {
            let [low, high] = key_bounds(search);
            let values = values![text(&low.0), low.1, text(&high.0), high.1, count];
            connection
                .one(KEYS[way], values)
                .await?
                .read(|row| Ok(key_position(row.text(1)?, row.integer(0)?)))?
        }
        InstanceSort::Due => {
            let [low, high] = due_bounds(search);
            let values =
                values![low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3], count];
            connection.one(DUE[way], values).await?.read(|row| {
                let (_, key) = timer::read_key(row)?;
                let TimerId(effect) = key.id;
                Ok(InstancePosition::Due(key.due_at, effect))
            })?
        }
    };
    Ok(Candidates::of_part(found, part))
}

/// The codes of the oldest incidents, by definition.
pub(super) async fn count_incidents(
    connection: &Connection,
    limit: usize,
) -> Result<Vec<IncidentCount>, QueryError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = connection.one(CODES, values![limit]).await?;
    Ok(found.read(|row| {
        let definition = DefinitionId(row.number(1)?);
        Ok(IncidentCount { code: row.text(0)?, definition, count: row.number(2)? })
    })?)
}
