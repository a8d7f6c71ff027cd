//! Subscriptions to messages and broadcasts.

use std::collections::VecDeque;

use meantime_kernel::store::{ChannelKey, Error, SubscriptionRow};
use rusqlite::params;

use super::db::Db;
use crate::row::subscription::read;
use crate::row::{Columns as _, id_order, id_random, int};

const PUT: &str = "INSERT OR REPLACE INTO subscription \
     (kind, key, name, seq, id_order, turn_no, ordinal, id_random, definition) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const DELETE: &str =
    "DELETE FROM subscription WHERE kind = ?1 AND key = ?2 AND name = ?3 AND seq = ?4";
const NEXT_DEFINITION: &str = "SELECT definition FROM subscription \
     WHERE kind = ?1 AND key = ?2 AND name = ?3 AND definition > ?4 ORDER BY definition LIMIT 1";
const WAITING: &str = "SELECT seq, id_order, turn_no, ordinal, id_random, definition FROM \
     subscription \
     WHERE kind = ?1 AND key = ?2 AND name = ?3 AND definition = ?4 ORDER BY seq";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, DELETE, NEXT_DEFINITION, WAITING];

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
            id_order(effect.instance),
            int(effect.turn_no),
            effect.ordinal,
            id_random(effect.instance),
            row.definition,
        ],
    )?;
    Ok(())
}

pub(super) fn delete(db: &Db<'_>, channel: &ChannelKey, seq: u64) -> Result<(), Error> {
    let ChannelKey { kind, key, name } = channel;
    db.run(DELETE, params![kind.name(), key, name, int(seq)]).map(drop)
}

/// The longest waiting subscriptions of each definition.
pub(super) fn waiting(
    db: &Db<'_>,
    channel: &ChannelKey,
    limit: usize,
) -> Result<VecDeque<SubscriptionRow>, Error> {
    let ChannelKey { kind, key, name } = channel;
    let mut found = Vec::new();
    // Names are never empty, except in subscriptions that an earlier release wrote.
    let mut definition = Some(String::new());
    while let Some(at) = definition {
        let params = params![kind.name(), key, name, at];
        found.extend(db.some(WAITING, params, limit, |row| read(row, 0, channel).map(Some))?);
        let params = params![kind.name(), key, name, at];
        definition = db.first(NEXT_DEFINITION, params, |row| row.text(0))?;
    }
    found.sort_by_key(|row| row.seq);
    Ok(found.into())
}
