//! Those who wait for messages and broadcasts.

use std::collections::VecDeque;

use meantime_kernel::store::{ChannelKey, Error, SubscriptionRow};
use rusqlite::params;

use super::db::Db;
use crate::row::subscription::read;
use crate::row::{int, ord, random};

const PUT: &str = "INSERT OR REPLACE INTO subscription \
     (kind, key, name, seq, ord, turn_no, ordinal, random) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const DELETE: &str =
    "DELETE FROM subscription WHERE kind = ?1 AND key = ?2 AND name = ?3 AND seq = ?4";
const WAITING: &str = "SELECT seq, ord, turn_no, ordinal, random FROM subscription \
     WHERE kind = ?1 AND key = ?2 AND name = ?3 ORDER BY seq";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, DELETE, WAITING];

pub(super) fn put(db: &Db<'_>, row: &SubscriptionRow) -> Result<(), Error> {
    let ChannelKey { kind, key, name } = &row.channel;
    let effect = row.key;
    db.run(
        PUT,
        params![
            kind.name(),
            key,
            name,
            int(row.seq),
            ord(effect.instance),
            int(effect.turn_no),
            effect.ordinal,
            random(effect.instance),
        ],
    )?;
    Ok(())
}

pub(super) fn delete(db: &Db<'_>, channel: &ChannelKey, seq: u64) -> Result<(), Error> {
    let ChannelKey { kind, key, name } = channel;
    db.run(DELETE, params![kind.name(), key, name, int(seq)]).map(drop)
}

/// Those who wait longest.
pub(super) fn waiting(
    db: &Db<'_>,
    channel: &ChannelKey,
    limit: usize,
) -> Result<VecDeque<SubscriptionRow>, Error> {
    let ChannelKey { kind, key, name } = channel;
    let rows = db.some(WAITING, params![kind.name(), key, name], limit, |row| {
        read(row, 0, channel).map(Some)
    })?;
    Ok(rows.into())
}
