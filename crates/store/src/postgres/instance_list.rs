//! Lists of instances, newest first, and the index for each filter.

use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::store::{InstanceFilter, InstanceRow, Page, Phase};

use super::connection::{Connection, Param, QueryError, values};
use super::definition;
use super::text::text;
use crate::row::instance::{UNUSUAL_PHASES, columns, matches, read_lenient};
use crate::row::{Columns, id_order, int};

const TAGGED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance_tag AS t CROSS JOIN LATERAL (SELECT * FROM instance WHERE id_order = \
         t.id_order OFFSET 0) \
     AS i WHERE t.tag = $3 AND t.id_order < $1 ORDER BY t.id_order DESC LIMIT $2"
);
const KEYED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.key = $3 AND i.id_order < $1 ORDER BY i.id_order DESC LIMIT $2"
);
const LIVE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.definition_id = $3 AND num_nulls(i.ended_at) = 1 AND i.id_order < \
         $1 \
     ORDER BY i.id_order DESC LIMIT $2"
);
const UNUSUAL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.phase IN ('starting', 'yielding', 'failed', 'cancelled') \
     AND i.phase = $3 AND i.id_order < $1 ORDER BY i.id_order DESC LIMIT $2"
);
const NEWEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.id_order < $1 ORDER BY i.id_order DESC LIMIT $2"
);

/// Instances with an open incident, whatever their own rows count.
const TROUBLED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.id_order < $1 \
     AND EXISTS (SELECT 1 FROM incident AS t WHERE t.id_order = i.id_order) ORDER BY i.id_order \
     DESC LIMIT $2"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[TAGGED, KEYED, LIVE, UNUSUAL, NEWEST];

/// How many rows are read at a time if some of them may not match.
const STRIDE: usize = 1_000;

/// A page of instances. Conditions without an index are checked while reading.
pub(super) async fn list(
    connection: &Connection,
    filter: &InstanceFilter,
    page: Page<InstanceId>,
) -> Result<Vec<InstanceRow>, QueryError> {
    let walk = Walk { connection, filter, page };
    let only = |phases: &dyn Fn(&Phase) -> bool| {
        !filter.phases.is_empty() && filter.phases.iter().all(phases)
    };
    if let Some(tag) = &filter.tag {
        return walk.run(TAGGED, || Some(Box::new(text(tag)))).await;
    }
    if let Some(key) = &filter.key {
        return walk.run(KEYED, || Some(Box::new(text(key)))).await;
    }
    if filter.incident == Some(true) {
        let filter = InstanceFilter { incident: None, ..filter.clone() };
        let walk = Walk { connection, filter: &filter, page };
        return walk.run(TROUBLED, || None).await;
    }
    let mut rows = Vec::new();
    if only(&|phase| UNUSUAL_PHASES.contains(phase)) {
        let mut phases = filter.phases.clone();
        phases.sort_unstable();
        phases.dedup();
        for phase in phases {
            rows.extend(walk.run(UNUSUAL, || Some(Box::new(phase.name()))).await?);
        }
    } else if only(&|phase| !phase.is_ended()) {
        for DefinitionId(id) in definitions(connection, filter).await? {
            rows.extend(walk.run(LIVE, || Some(Box::new(int(id)))).await?);
        }
    } else {
        return walk.run(NEWEST, || None).await;
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    rows.truncate(page.limit);
    Ok(rows)
}

async fn definitions(
    connection: &Connection,
    filter: &InstanceFilter,
) -> Result<Vec<DefinitionId>, QueryError> {
    if filter.definitions.is_empty() {
        return definition::ids(connection).await;
    }
    let mut ids = filter.definitions.clone();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

struct Walk<'a> {
    connection: &'a Connection,
    filter: &'a InstanceFilter,
    page: Page<InstanceId>,
}

impl<'a> Walk<'a> {
    /// Continues reading until enough rows match.
    async fn run(
        &self,
        sql: &'static str,
        what: impl Fn() -> Option<Param<'a>>,
    ) -> Result<Vec<InstanceRow>, QueryError> {
        let limit = self.page.limit;
        let mut before = self.page.after.map_or(i64::MAX, id_order);
        let mut found = Vec::new();
        while found.len() < limit {
            let stride = i64::try_from(limit.min(STRIDE)).unwrap_or(i64::MAX);
            let mut params = values![before, stride];
            params.extend(what());
            let answer = self.connection.one(sql, params).await?;
            for row in &answer.rows {
                before = row.integer(0)?;
                if matches(self.filter, row)? {
                    found.push(read_lenient(row)?);
                }
            }
            if answer.count < u64::try_from(stride).unwrap_or_default() {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}
