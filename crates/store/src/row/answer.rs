//! Stored answers by idempotency key.

use meantime_kernel::store::{AnswerRow, Error};

use super::Columns;

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "key, request, id_order, id_random, expires_at"
    };
}
pub(crate) use columns;

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<AnswerRow, Error> {
    Ok(AnswerRow {
        key: row.text(0)?,
        request: row.number(1)?,
        instance: row.instance(2, 3)?,
        expires_at: row.instant(4, "answer")?,
    })
}
