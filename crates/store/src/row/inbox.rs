//! Inboxes: stored events that wait for a turn.

use meantime_kernel::store::{Error, InboxRow};

use super::{Columns, incident};

const TABLE: &str = "inbox";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "id_order, seq, id_random, arrived_at, held_by, origin, event"
    };
}
pub(crate) use columns;

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<InboxRow, Error> {
    Ok(InboxRow {
        instance: row.instance(0, 2)?,
        seq: row.number(1)?,
        at: row.instant(3, TABLE)?,
        held: row.parsed(4, TABLE, |bytes| {
            if bytes.is_empty() { Ok(None) } else { incident::id(bytes).map(Some) }
        })?,
        origin: row.unpacked_if(5, TABLE)?,
        event: row.unpacked(6, TABLE)?,
    })
}
