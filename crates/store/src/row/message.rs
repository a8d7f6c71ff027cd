//! Messages and signals that wait for somebody.

use meantime_core::Json;
use meantime_kernel::store::{ChannelKey, Error, MessageRow};

use super::Columns;

const TABLE: &str = "message";

/// Reads `seq, expires_at, payload` from a column on.
pub(crate) fn read(
    row: &impl Columns,
    from: usize,
    channel: &ChannelKey,
) -> Result<MessageRow, Error> {
    Ok(MessageRow {
        channel: channel.clone(),
        seq: row.number(from)?,
        expires_at: row.instant_if(from + 1, TABLE)?,
        payload: row.parsed(from + 2, TABLE, json)?,
    })
}

/// Reads a column that holds JSON text.
pub(crate) fn json(bytes: &[u8]) -> Result<Json, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    Json::parse(text).map_err(|e| e.to_string())
}
