//! History: one packed row per turn, appended, each with the number of the row before.

use meantime_kernel::history::pack;
use meantime_kernel::store::{Error, HistoryRow};
use rusqlite::params;

use super::db::Db;
use crate::row::history::{columns, read};
use crate::row::{id_order, id_random, int};

// Using a number twice is a bug and fails: history is never overwritten.
const APPEND: &str = "INSERT INTO history \
     (seq, id_order, id_random, turn_no, happened_at, previous, records) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const GET: &str = concat!("SELECT ", columns!(), " FROM history AS h WHERE h.seq = ?1");
const SINCE: &str =
    concat!("SELECT ", columns!(), " FROM history AS h WHERE h.seq > ?1 ORDER BY h.seq");

#[cfg(test)]
pub(super) const ALL: &[&str] = &[APPEND, GET, SINCE];

pub(super) fn append(db: &Db<'_>, row: &HistoryRow) -> Result<(), Error> {
    db.run(
        APPEND,
        params![
            int(row.seq),
            id_order(row.instance),
            id_random(row.instance),
            int(row.turn_no),
            row.at.as_millis(),
            int(row.previous),
            pack(&row.records),
        ],
    )?;
    Ok(())
}

/// Follows the list of an instance backwards, from a row on.
pub(super) fn chain(db: &Db<'_>, from: u64, limit: usize) -> Result<Vec<HistoryRow>, Error> {
    let mut rows: Vec<HistoryRow> = Vec::new();
    let mut next = from;
    while rows.len() < limit
        && let Some(row) = db.first(GET, [int(next)], |row| read(row))?
    {
        next = row.previous;
        rows.push(row);
    }
    Ok(rows)
}

/// Rows of all instances after a number, oldest first.
pub(super) fn since(db: &Db<'_>, after: u64, limit: usize) -> Result<Vec<HistoryRow>, Error> {
    db.some(SINCE, [int(after)], limit, |row| read(row).map(Some))
}
