//! History: one packed row per turn.

use meantime_kernel::history::unpack;
use meantime_kernel::store::{Error, HistoryRow};

use super::Columns;

const TABLE: &str = "history";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "h.seq, h.id_order, h.id_random, h.turn_no, h.happened_at, h.previous, h.records"
    };
}
pub(crate) use columns;

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<HistoryRow, Error> {
    Ok(HistoryRow {
        seq: row.number(0)?,
        instance: row.instance(1, 2)?,
        turn_no: row.number(3)?,
        at: row.instant(4, TABLE)?,
        previous: row.number(5)?,
        records: row.parsed(6, TABLE, unpack)?,
    })
}
