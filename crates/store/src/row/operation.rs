//! Operations on the store as a whole.

use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{Error, OperationKind, OperationRow};

use super::Columns;

const TABLE: &str = "operation";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "number, happened_at, kind, actor, reason"
    };
}
pub(crate) use columns;

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<OperationRow, Error> {
    Ok(OperationRow {
        number: row.number(0)?,
        at: row.instant(1, TABLE)?,
        kind: row.named(2, TABLE, OperationKind::from_name)?,
        audit: AuditInfo { actor: row.text(3)?, reason: row.text(4)? },
    })
}
