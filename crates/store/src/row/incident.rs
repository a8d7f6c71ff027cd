//! Open incidents.

use meantime_core::{Failure, IncidentId};
use meantime_kernel::store::{Error, IncidentCause, IncidentRow};

use super::{Columns, message};

const TABLE: &str = "incident";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "id, id_order, id_random, raised_at, element, code, message, data, cause"
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
        element: row.text(4)?,
        failure: Failure {
            code: row.text(5)?,
            message: row.text(6)?,
            data: if has_data { Some(row.parsed(7, TABLE, message::json)?) } else { None },
            // The trace is in the history.
            trace: None,
        },
        cause: row.unpacked(8, TABLE)?,
    })
}

/// Reads the decodable parts of a row; `None` if not even its ids can be read. The failure of a
/// damaged incident says that it is damaged.
pub(crate) fn read_lenient(row: &impl Columns) -> Result<Option<IncidentRow>, Error> {
    let error = match read(row) {
        Err(error @ Error::DamagedRow(_)) => error,
        read => return read.map(Some),
    };
    let (Ok(id), Ok(instance)) = (row.parsed(0, TABLE, id), row.instance(1, 2)) else {
        return Ok(None);
    };
    Ok(Some(IncidentRow {
        id,
        instance,
        raised_at: row.instant(3, TABLE).unwrap_or_default(),
        element: row.text(4).unwrap_or_default(),
        failure: Failure::new("store_row_damaged", error.to_string()),
        cause: row.unpacked(8, TABLE).unwrap_or(IncidentCause::Damage),
    }))
}

/// Reads the sixteen bytes of an incident's id.
pub(crate) fn id(bytes: &[u8]) -> Result<IncidentId, &'static str> {
    bytes.try_into().map(IncidentId::from_bytes).map_err(|_| "an id has sixteen bytes")
}
