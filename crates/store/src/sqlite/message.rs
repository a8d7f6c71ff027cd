//! Stored messages and signals.

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::store::{ChannelKey, Error, MessageRow};
use rusqlite::{Row, params};

use super::db::Db;
use crate::row::message::{had, mark, read};
use crate::row::{int, millis};

const PUT: &str = "INSERT OR REPLACE INTO message \
     (kind, key, name, seq, expires_at, payload, had) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const DELETE: &str = "DELETE FROM message WHERE kind = ?1 AND key = ?2 AND name = ?3 AND seq = ?4";
const EXPIRE: &str =
    "DELETE FROM message WHERE kind = ?1 AND key = ?2 AND name = ?3 AND expires_at <= ?4";
const CLEAR_SIGNALS: &str = "DELETE FROM message WHERE kind = 'signal' AND key = ?1";
const FRESH: &str = "SELECT seq, expires_at, payload, had FROM message \
     WHERE kind = ?1 AND key = ?2 AND name = ?3 AND (expires_at IS NULL OR expires_at > ?4) \
     AND instr(had, ?5) = 0 ORDER BY seq";
const KEPT: &str = "SELECT seq, expires_at, payload, had FROM message \
     WHERE kind = ?1 AND key = ?2 AND name = ?3 AND seq = ?4";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, DELETE, EXPIRE, CLEAR_SIGNALS, FRESH, KEPT];

pub(super) fn put(db: &Db<'_>, row: &MessageRow) -> Result<(), Error> {
    let ChannelKey { kind, key, name } = &row.channel;
    let expires_at = millis(row.expires_at);
    let payload = row.payload.as_str();
    let params = params![kind.name(), key, name, int(row.seq), expires_at, payload, had(row)];
    db.run(PUT, params).map(drop)
}

pub(super) fn delete(db: &Db<'_>, channel: &ChannelKey, seq: u64) -> Result<(), Error> {
    let ChannelKey { kind, key, name } = channel;
    db.run(DELETE, params![kind.name(), key, name, int(seq)]).map(drop)
}

/// Deletes expired messages.
pub(super) fn expire(db: &Db<'_>, channel: &ChannelKey, now: Timestamp) -> Result<(), Error> {
    let ChannelKey { kind, key, name } = channel;
    db.run(EXPIRE, params![kind.name(), key, name, now.as_millis()]).map(drop)
}

/// Deletes the signals of an instance that ended.
pub(super) fn clear_signals(db: &Db<'_>, instance: InstanceId) -> Result<(), Error> {
    let key = ChannelKey::signal(instance, "").key;
    db.run(CLEAR_SIGNALS, [key]).map(drop)
}

/// The oldest messages of a channel that a definition has not received and that have not expired.
pub(super) fn fresh(
    db: &Db<'_>,
    channel: &ChannelKey,
    definition: &str,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<MessageRow>, Error> {
    let ChannelKey { kind, key, name } = channel;
    let params = params![kind.name(), key, name, now.as_millis(), mark(definition)];
    db.some(FRESH, params, limit, |row| undamaged(row, channel))
}

/// A message by its number.
pub(super) fn kept(
    db: &Db<'_>,
    channel: &ChannelKey,
    seq: u64,
) -> Result<Option<MessageRow>, Error> {
    let ChannelKey { kind, key, name } = channel;
    let params = params![kind.name(), key, name, int(seq)];
    Ok(db.first(KEPT, params, |row| undamaged(row, channel))?.flatten())
}

/// A damaged message stays where it is and is not delivered; `check` reports it.
fn undamaged(row: &Row<'_>, channel: &ChannelKey) -> Result<Option<MessageRow>, Error> {
    match read(row, 0, channel) {
        Err(Error::DamagedRow(_)) => Ok(None),
        read => read.map(Some),
    }
}
