//! History: one packed row per turn, appended, each with the number of the row before.

use meantime_kernel::history::pack;
use meantime_kernel::store::HistoryRow;

use super::connection::{Call, Connection, QueryError, arrays, values};
use crate::row::history::{columns, read};
use crate::row::{id_order, id_random, int};

// Using a number twice is a bug and fails: history is never overwritten.
const APPEND: &str = "INSERT INTO history (seq, id_order, id_random, turn_no, happened_at, \
     previous, records) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], \
     $6::bigint[], $7::bytea[])";
const CHAIN: &str = concat!(
    "WITH RECURSIVE h AS (SELECT n.*, 1::bigint AS position FROM history AS n WHERE n.seq = $1 \
     UNION ALL SELECT n.*, h.position + 1 FROM h CROSS JOIN LATERAL \
     (SELECT * FROM history WHERE seq = h.previous OFFSET 0) AS n WHERE h.position < $2) SELECT ",
    columns!(),
    " FROM h ORDER BY h.position"
);

const SINCE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM history AS h WHERE h.seq > $1 AND h.seq < $2 ORDER BY h.seq LIMIT $3"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[APPEND, CHAIN, SINCE];

/// Appends the history of a plan, in the order of numbers.
pub(super) fn append<'a>(rows: &[&'a HistoryRow]) -> Option<Call<'a>> {
    let mut rows = rows.to_vec();
    rows.sort_unstable_by_key(|row| row.seq);
    let params = arrays!(rows, |row| [
        int(row.seq),
        id_order(row.instance),
        id_random(row.instance),
        int(row.turn_no),
        row.at.as_millis(),
        int(row.previous),
        pack(&row.records),
    ]);
    (!rows.is_empty()).then(|| Call::new(APPEND, params))
}

/// Follows the list of an instance backwards, from a row on.
pub(super) async fn chain(
    connection: &Connection,
    from: u64,
    limit: usize,
) -> Result<Vec<HistoryRow>, QueryError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(connection.one(CHAIN, values![int(from), limit]).await?.read(read)?)
}

/// Rows of all instances after one number and before another, oldest first.
pub(super) async fn since(
    connection: &Connection,
    after: u64,
    before: u64,
    limit: usize,
) -> Result<Vec<HistoryRow>, QueryError> {
    let before = int(before.min(u64::MAX >> 1));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(connection.one(SINCE, values![int(after), before, limit]).await?.read(read)?)
}
