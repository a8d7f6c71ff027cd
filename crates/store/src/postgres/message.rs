//! Stored messages and signals.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::store::{ChannelKey, ChannelKind, Error, MessageRow};

use super::connection::{Call, Param, QueryAnswer, arrays, values};
use super::keyed::Keyed;
use super::text::text;
use crate::row::message::{had, mark, read};
use crate::row::{Columns, int, millis};

const PUT: &str = "INSERT INTO message (kind, key, name, seq, expires_at, payload, had) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], \
     $6::text[], $7::text[]) ON CONFLICT (kind, key, name, seq) DO UPDATE \
     SET expires_at = excluded.expires_at, payload = excluded.payload, had = excluded.had";
const DELETE: &str = "DELETE FROM message WHERE ctid = ANY (ARRAY( \
     SELECT (SELECT ctid FROM message AS m WHERE m.kind = k.kind AND m.key = k.key \
     AND m.name = k.name AND m.seq = k.seq) \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS k (kind, key, name, seq)))";
const EXPIRE: &str = "DELETE FROM message WHERE ctid = ANY (ARRAY( \
     SELECT m.ctid FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) \
     AS k (kind, key, name, at) CROSS JOIN LATERAL (SELECT ctid FROM message \
     WHERE kind = k.kind AND key = k.key AND name = k.name AND expires_at <= k.at OFFSET 0) AS m))";
const CLEAR_SIGNALS: &str = "DELETE FROM message WHERE kind = 'signal' AND key = ANY ($1::text[])";
const FRESH: &str = "SELECT c.position, m.seq, m.expires_at, m.payload, m.had \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[]) WITH ORDINALITY \
     AS c (kind, key, name, most, mark, position) CROSS JOIN LATERAL (SELECT * FROM message AS m \
     WHERE m.kind = c.kind AND m.key = c.key AND m.name = c.name \
     AND (m.expires_at IS NULL OR m.expires_at > $6) AND strpos(m.had, c.mark) = 0 \
     ORDER BY m.seq LIMIT c.most) AS m ORDER BY c.position, m.seq";
const KEPT: &str = "SELECT c.position, m.seq, m.expires_at, m.payload, m.had \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY \
     AS c (kind, key, name, seq, position) CROSS JOIN LATERAL (SELECT * FROM message AS m \
     WHERE m.kind = c.kind AND m.key = c.key AND m.name = c.name AND m.seq = c.seq OFFSET 0) AS m";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PUT, DELETE, EXPIRE, CLEAR_SIGNALS, FRESH, KEPT];

/// The changes of a plan to messages.
#[derive(Default)]
pub(super) struct Changes<'a> {
    rows: Keyed<(&'a ChannelKey, u64), &'a MessageRow>,
    expired: BTreeMap<&'a ChannelKey, Timestamp>,
    cleared: BTreeSet<String>,
}

impl<'a> Changes<'a> {
    pub(super) fn put(&mut self, row: &'a MessageRow) {
        self.rows.put((&row.channel, row.seq), row);
    }

    pub(super) fn delete(&mut self, channel: &'a ChannelKey, seq: u64) {
        self.rows.delete((channel, seq));
    }

    /// Deletes expired messages.
    pub(super) fn expire(&mut self, channel: &'a ChannelKey, now: Timestamp) {
        self.rows.forget(|(of, _), row| {
            *of == channel && row.expires_at.is_some_and(|expiry| expiry <= now)
        });
        let known = self.expired.entry(channel).or_insert(now);
        *known = now.max(*known);
    }

    /// Deletes the signals of an instance that ended.
    pub(super) fn clear_signals(&mut self, instance: InstanceId) {
        let key = ChannelKey::signal(instance, "").key;
        self.rows.forget(|(of, _), _| of.kind == ChannelKind::Signal && of.key == key);
        self.cleared.insert(key);
    }

    /// Statements about many rows come first: they must not affect rows that the plan puts.
    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        if !self.expired.is_empty() {
            let pairs: Vec<_> = self.expired.iter().collect();
            let params = arrays!(pairs, |it| [
                it.0.kind.name(),
                text(&it.0.key),
                text(&it.0.name),
                it.1.as_millis(),
            ]);
            calls.push(Call::new(EXPIRE, params));
        }
        if !self.cleared.is_empty() {
            let keys: Vec<&str> = self.cleared.iter().map(String::as_str).collect();
            calls.push(Call::new(CLEAR_SIGNALS, values![keys]));
        }
        let keys = self.rows.deletes();
        if !keys.is_empty() {
            let params = arrays!(keys, |key| [
                key.0.kind.name(),
                text(&key.0.key),
                text(&key.0.name),
                int(key.1),
            ]);
            calls.push(Call::new(DELETE, params));
        }
        let rows = self.rows.puts();
        if !rows.is_empty() {
            let params = arrays!(rows, |it| [
                it.1.channel.kind.name(),
                text(&it.1.channel.key),
                text(&it.1.channel.name),
                int(it.1.seq),
                millis(it.1.expires_at),
                it.1.payload.as_str(),
                text(&had(it.1)).into_owned(),
            ]);
            calls.push(Call::new(PUT, params));
        }
    }
}

/// Parameters that name channels, each with a limit.
pub(super) fn channel_params<'a>(channels: &[(&'a ChannelKey, usize)]) -> Vec<Param<'a>> {
    arrays!(channels, |it| [
        it.0.kind.name(),
        text(&it.0.key),
        text(&it.0.name),
        i64::try_from(it.1).unwrap_or(i64::MAX),
    ])
}

/// The oldest messages of each channel that a definition has not received and that have not
/// expired.
pub(super) fn fresh<'a>(readers: &'a [MessageReader<'a>], now: Timestamp) -> Call<'a> {
    let mut params = arrays!(readers, |it| [
        it.channel.kind.name(),
        text(&it.channel.key),
        text(&it.channel.name),
        i64::try_from(it.limit).unwrap_or(i64::MAX),
        text(&it.mark),
    ]);
    params.extend(values![now.as_millis()]);
    Call::new(FRESH, params)
}

/// A definition that reads a channel.
pub(super) struct MessageReader<'a> {
    channel: &'a ChannelKey,
    limit: usize,
    mark: String,
}

impl<'a> MessageReader<'a> {
    pub(super) fn new(channel: &'a ChannelKey, limit: usize, definition: &str) -> Self {
        Self { channel, limit, mark: mark(definition) }
    }

    pub(super) fn channel(&self) -> &'a ChannelKey {
        self.channel
    }
}

/// Messages by their numbers.
pub(super) fn kept<'a>(positions: &'a [(&'a ChannelKey, u64)]) -> Call<'a> {
    Call::new(
        KEPT,
        arrays!(positions, |it| [it.0.kind.name(), text(&it.0.key), text(&it.0.name), int(it.1),]),
    )
}

/// Messages of either query; the first column is the index of the request, from 1.
pub(super) fn read_messages(
    answer: &QueryAnswer,
    asked: &[&ChannelKey],
) -> Result<Vec<MessageRow>, Error> {
    let mut found = Vec::new();
    for row in &answer.rows {
        let position = usize::try_from(row.integer(0)?).unwrap_or_default();
        let channel = position.checked_sub(1).and_then(|position| asked.get(position));
        let channel = channel.ok_or_else(|| Error::Bug("an unknown channel".to_owned()))?;
        match read(row, 1, channel) {
            // A damaged message stays where it is and is not delivered; `check` reports it.
            Err(Error::DamagedRow(_)) => {}
            read => found.push(read?),
        }
    }
    Ok(found)
}

/// The channel for which a row was found: the first column is its index, from 1.
pub(super) fn position<'a>(
    row: &impl Columns,
    channels: &[(&'a ChannelKey, usize)],
) -> Result<&'a ChannelKey, Error> {
    let position = usize::try_from(row.integer(0)?).unwrap_or_default();
    let found = position.checked_sub(1).and_then(|position| channels.get(position));
    found.map(|(channel, _)| *channel).ok_or_else(|| Error::Bug("an unknown channel".to_owned()))
}
