//! Open incidents.

use meantime_core::{Failure, IncidentId};
use meantime_kernel::store::{Error, IncidentRow};

use super::{Columns, message};

const TABLE: &str = "incident";

/// What [`read`] reads, in its order.
macro_rules! columns {
    () => {
        "id, ord, random, raised_at, place, code, message, data, cause"
    };
}
pub(crate) use columns;

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<IncidentRow, Error> {
    let has_data = row.bytes_if(7)?.is_some();
    Ok(IncidentRow {
        id: row.parsed(0, TABLE, id)?,
        instance: row.instance(1, 2)?,
        raised_at: row.instant(3, TABLE)?,
        place: row.text(4)?,
        failure: Failure {
            code: row.text(5)?,
            message: row.text(6)?,
            data: if has_data { Some(row.parsed(7, TABLE, message::json)?) } else { None },
            // Where in a definition it happened is in the history.
            trace: None,
        },
        cause: row.unpacked(8, TABLE)?,
    })
}

/// Reads the sixteen bytes of an incident's id.
pub(crate) fn id(bytes: &[u8]) -> Result<IncidentId, &'static str> {
    bytes.try_into().map(IncidentId::from_bytes).map_err(|_| "an id has sixteen bytes")
}
