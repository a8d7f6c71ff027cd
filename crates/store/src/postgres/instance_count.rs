//! The number of instances by definition and status.
//!
//! A commit adds to rows that belong to its row of `commit_row`, which no other commit uses at the
//! same time: commits never wait for each other's counts. The numbers are the sums over all of
//! them. The rows of ended processes are added up when their rows of `commit_row` are deleted
//! (`batch::fold`).

use meantime_kernel::store::InstanceCount;

use super::connection::{Call, Connection, Param, QueryError};
use crate::row::Columns as _;
use crate::row::instance_count::Counts;
use crate::row::int;

const ADD: &str = "INSERT INTO instance_count (lease_term, row_number, definition_id, status, count) \
     SELECT 0, 1, * FROM unnest($1::bigint[], $2::text[], $3::bigint[]) \
     ON CONFLICT (lease_term, row_number, definition_id, status) \
     DO UPDATE SET count = instance_count.count + excluded.count";
const LIST: &str = "SELECT definition_id, status, sum(count)::bigint FROM instance_count \
     GROUP BY definition_id, status";
const RECOUNT: &str = "SELECT definition_id, phase, count(*) FROM instance \
     GROUP BY definition_id, phase";

/// A database of an earlier release has no counts.
const IS_THERE: &str = "SELECT to_regclass('instance_count') IS NOT NULL";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ADD, LIST, RECOUNT, IS_THERE];

/// Changes as columns: definition, status, number.
pub(super) fn columns(changes: &Counts) -> [Param<'static>; 3] {
    let definitions: Vec<i64> = changes.0.keys().map(|(definition, _)| int(definition.0)).collect();
    let statuses: Vec<&'static str> = changes.0.keys().map(|(_, status)| status.name()).collect();
    let counts: Vec<i64> = changes.0.values().copied().collect();
    [Box::new(definitions), Box::new(statuses), Box::new(counts)]
}

/// Adds the changes of retention; none if there are no changes. Only one node at a time runs it, so
/// its rows, number 1 of term 0, are used by no other transaction. Number 0 holds the numbers of
/// ended processes.
pub(super) fn add(changes: &Counts) -> Option<Call<'static>> {
    (!changes.0.is_empty()).then(|| Call::new(ADD, columns(changes).into()))
}

async fn read(connection: &Connection, sql: &'static str) -> Result<Counts, QueryError> {
    let answer = connection.one(sql, Vec::new()).await?;
    let mut counts = Counts::default();
    answer.rows.iter().try_for_each(|row| counts.read(row))?;
    Ok(counts)
}

pub(super) async fn list(connection: &Connection) -> Result<Vec<InstanceCount>, QueryError> {
    Ok(read(connection, LIST).await?.list())
}

/// Counts all rows and reports what differs.
pub(super) async fn check(
    connection: &Connection,
    problems: &mut Vec<String>,
) -> Result<(), QueryError> {
    let found = connection.one(IS_THERE, Vec::new()).await?;
    if !found.first(|row| row.flag(0))?.unwrap_or_default() {
        return Ok(());
    }
    let counts = read(connection, RECOUNT).await?;
    problems.extend(counts.differences(&read(connection, LIST).await?));
    Ok(())
}
