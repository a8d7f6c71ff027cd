//! Deployed versions and their sources.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::DefinitionId;
use meantime_kernel::store::{
    DefinitionFilter, DefinitionHead, DefinitionPause, DefinitionRow, Error,
};

use super::connection::{Call, Connection, QueryAnswer, QueryError, arrays, values};
use super::text::{text, text_if};
use crate::row::definition::{columns, head, head_columns, read_lenient, wanted};
use crate::row::{Columns, int, packed};

const INSERT: &str = "INSERT INTO definition (id, name, version, notation, label, hash, \
     deployed_at, retired, source_name, triggers, paused) SELECT * FROM unnest($1::bigint[], $2::text[], \
     $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::boolean[], $9::text[], \
     $10::bytea[], $11::bytea[])";
const INSERT_SOURCE: &str = "INSERT INTO definition_source (definition_id, source, files) \
     SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])";
const PAUSE: &str = "UPDATE definition SET paused = $2 WHERE name = $1";
const RETIRE: &str = "UPDATE definition SET retired = true WHERE id = ANY ($1::bigint[])";
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM definition AS d CROSS JOIN LATERAL \
     (SELECT * FROM definition_source WHERE definition_id = d.id OFFSET 0) AS s WHERE d.id = $1"
);
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM definition AS d CROSS JOIN LATERAL \
     (SELECT * FROM definition_source WHERE definition_id = d.id OFFSET 0) AS s ORDER BY d.id DESC"
);
const NAMED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM definition AS d CROSS JOIN LATERAL \
     (SELECT * FROM definition_source WHERE definition_id = d.id OFFSET 0) AS s WHERE d.name = $1 ORDER BY d.version DESC"
);
const HEADS: &str = concat!(
    "SELECT ",
    head_columns!(),
    " FROM definition AS d WHERE d.name = ANY ($1::text[]) ORDER BY d.version DESC"
);
const NEXT_ID: &str =
    "SELECT coalesce((SELECT id FROM definition ORDER BY id DESC LIMIT 1), 0) + 1";
const IDS: &str = "SELECT id FROM definition ORDER BY id";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[INSERT, INSERT_SOURCE, PAUSE, RETIRE, GET, LIST, NAMED, HEADS, NEXT_ID, IDS];

/// The changes of a plan to definitions.
#[derive(Default)]
pub(super) struct Changes<'a> {
    new: Vec<&'a DefinitionRow>,
    retired: Vec<DefinitionId>,
    paused: Vec<(&'a str, Option<&'a DefinitionPause>)>,
}

impl<'a> Changes<'a> {
    pub(super) fn insert(&mut self, row: &'a DefinitionRow) {
        self.new.push(row);
    }

    pub(super) fn retire(&mut self, id: DefinitionId) {
        self.retired.push(id);
    }

    /// Sets or ends the pause of all versions of a name.
    pub(super) fn pause(&mut self, name: &'a str, pause: Option<&'a DefinitionPause>) {
        self.paused.push((name, pause));
    }

    /// The inserts come first: the plan may undeploy a version that it has added.
    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        if !self.new.is_empty() {
            let params = arrays!(self.new, |row| [
                int(row.id.0),
                text(&row.name),
                i64::from(row.version),
                text(&row.notation),
                text_if(row.label.as_deref()),
                text(&row.hash),
                row.deployed_at.as_millis(),
                row.retired,
                text(&row.source_name),
                packed(&row.triggers),
                row.paused.as_ref().map(packed),
            ]);
            calls.push(Call::new(INSERT, params));
            let params =
                arrays!(self.new, |row| [int(row.id.0), row.source.as_bytes(), packed(&row.files)]);
            calls.push(Call::new(INSERT_SOURCE, params));
        }
        if !self.retired.is_empty() {
            let ids: Vec<i64> = self.retired.iter().map(|id| int(id.0)).collect();
            calls.push(Call::new(RETIRE, values![ids]));
        }
        for (name, pause) in &self.paused {
            calls.push(Call::new(PAUSE, values![text(name), pause.map(packed)]));
        }
    }
}

pub(super) async fn get(
    connection: &Connection,
    id: DefinitionId,
) -> Result<Option<DefinitionRow>, QueryError> {
    Ok(connection.one(GET, values![int(id.0)]).await?.first(read_lenient)?)
}

/// Versions that match, latest first.
pub(super) async fn list(
    connection: &Connection,
    filter: &DefinitionFilter,
) -> Result<Vec<DefinitionRow>, QueryError> {
    let found = match &filter.name {
        Some(name) => connection.one(NAMED, values![text(name)]).await?,
        None => connection.one(LIST, Vec::new()).await?,
    };
    Ok(wanted(found.read(read_lenient)?, filter))
}

/// All versions of the names without their sources, latest first.
pub(super) fn heads(names: &BTreeSet<String>) -> Call<'_> {
    let names: Vec<_> = names.iter().map(|name| text(name)).collect();
    Call::new(HEADS, values![names])
}

pub(super) fn read_heads(
    answer: &QueryAnswer,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, Vec<DefinitionHead>>, Error> {
    let mut found: BTreeMap<String, Vec<DefinitionHead>> =
        names.iter().map(|name| (name.clone(), Vec::new())).collect();
    for head in answer.read(|row| head(row, 0))? {
        found.entry(head.name.clone()).or_default().push(head);
    }
    Ok(found)
}

/// The number of the next definition.
pub(super) fn next_id() -> Call<'static> {
    Call::plain(NEXT_ID)
}

pub(super) fn read_next_id(answer: &QueryAnswer) -> Result<u64, Error> {
    Ok(answer.first(|row| row.number(0))?.unwrap_or(1))
}

pub(super) async fn ids(connection: &Connection) -> Result<Vec<DefinitionId>, QueryError> {
    Ok(connection.one(IDS, Vec::new()).await?.read(|row| row.number(0).map(DefinitionId))?)
}
