//! Stored messages and signals.

use meantime_core::Json;
use meantime_kernel::store::{ChannelKey, Error, MessageRow};

use super::Columns;

const TABLE: &str = "message";

/// Delimits every name in a list of names.
const MARK: char = '\u{1}';

/// The definitions that have received a message, as they are stored.
pub(crate) fn had(row: &MessageRow) -> String {
    let marked = |name: &String| format!("{MARK}{name}{MARK}");
    row.had.iter().map(marked).collect()
}

/// The text that the stored list contains if a definition is in it.
pub(crate) fn mark(definition: &str) -> String {
    format!("{MARK}{definition}{MARK}")
}

/// Reads `seq, expires_at, payload, had` from a column on.
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
        had: names(&row.text(from + 3)?),
    })
}

fn names(text: &str) -> Vec<String> {
    // Two names are separated by two delimiters, with nothing between them.
    text.split(MARK).skip(1).step_by(2).map(str::to_owned).collect()
}

/// Reads a column that holds JSON text.
pub(crate) fn json(bytes: &[u8]) -> Result<Json, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    Json::parse(text).map_err(|e| e.to_string())
}
