//! History: one packed row per turn, appended, each naming the one before.

use meantime_kernel::history::{pack, unpack};
use meantime_kernel::store::{Error, HistoryRow};
use rusqlite::params;

use super::db::{Columns, Db, int, ord, random};

const TABLE: &str = "history";

// A number that is used twice is a defect and fails: history is never overwritten.
const APPEND: &str = "INSERT INTO history \
     (seq, ord, random, turn_no, happened_at, previous, records) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const GET: &str = "SELECT seq, ord, random, turn_no, happened_at, previous, records \
     FROM history WHERE seq = ?1";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[APPEND, GET];

pub(super) fn append(db: &Db<'_>, row: &HistoryRow) -> Result<(), Error> {
    db.run(
        APPEND,
        params![
            int(row.seq),
            ord(row.instance),
            random(row.instance),
            int(row.turn_no),
            row.at.as_millis(),
            int(row.previous),
            pack(&row.records),
        ],
    )?;
    Ok(())
}

/// Follows the chain of an instance backwards, from a row on.
pub(super) fn chain(db: &Db<'_>, from: u64, limit: usize) -> Result<Vec<HistoryRow>, Error> {
    let mut rows: Vec<HistoryRow> = Vec::new();
    let mut next = from;
    while rows.len() < limit
        && let Some(row) = db.first(GET, [int(next)], read)?
    {
        next = row.previous;
        rows.push(row);
    }
    Ok(rows)
}

fn read(row: &Columns<'_, '_>) -> Result<HistoryRow, Error> {
    Ok(HistoryRow {
        seq: row.number(0)?,
        instance: row.instance(1, 2)?,
        turn_no: row.number(3)?,
        at: row.instant(4, TABLE)?,
        previous: row.number(5)?,
        records: row.parsed(6, TABLE, unpack)?,
    })
}
