//! Subscriptions to messages and broadcasts.

use std::collections::{BTreeMap, VecDeque};

use meantime_kernel::store::{ChannelKey, Error, SubscriptionRow};

use super::connection::{Call, QueryAnswer, arrays};
use super::keyed::Keyed;
use super::message::{channel_params, position};
use super::text::text;
use crate::row::subscription::read;
use crate::row::{id_order, id_random, int};

const PUT: &str = "INSERT INTO subscription \
     (kind, key, name, seq, id_order, turn_no, ordinal, id_random, definition) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], \
     $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) \
     ON CONFLICT (kind, key, name, seq) DO UPDATE \
     SET id_order = excluded.id_order, turn_no = excluded.turn_no, ordinal = excluded.ordinal, \
     id_random = excluded.id_random, definition = excluded.definition";
const DELETE: &str = "DELETE FROM subscription WHERE ctid = ANY (ARRAY( \
     SELECT (SELECT ctid FROM subscription AS s WHERE s.kind = k.kind AND s.key = k.key \
     AND s.name = k.name AND s.seq = k.seq) \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS k (kind, key, name, seq)))";
// The definitions of a channel are found one after the other, each with one index seek.
const WAITING: &str = "SELECT c.position, s.seq, s.id_order, s.turn_no, s.ordinal, s.id_random, \
     s.definition \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY \
     AS c (kind, key, name, most, position) CROSS JOIN LATERAL (WITH RECURSIVE d (name) AS ( \
     (SELECT s.definition FROM subscription AS s WHERE s.kind = c.kind AND s.key = c.key \
     AND s.name = c.name ORDER BY s.definition LIMIT 1) UNION ALL \
     SELECT (SELECT s.definition FROM subscription AS s WHERE s.kind = c.kind AND s.key = c.key \
     AND s.name = c.name AND s.definition > d.name ORDER BY s.definition LIMIT 1) \
     FROM d WHERE d.name IS NOT NULL) SELECT name FROM d WHERE name IS NOT NULL) AS d \
     CROSS JOIN LATERAL (SELECT * FROM subscription AS s \
     WHERE s.kind = c.kind AND s.key = c.key AND s.name = c.name AND s.definition = d.name \
     ORDER BY s.seq LIMIT c.most) AS s ORDER BY c.position, s.seq";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PUT, DELETE, WAITING];

/// The changes of a plan to subscriptions.
#[derive(Default)]
pub(super) struct Changes<'a>(Keyed<(&'a ChannelKey, u64), &'a SubscriptionRow>);

impl<'a> Changes<'a> {
    pub(super) fn put(&mut self, row: &'a SubscriptionRow) {
        self.0.put((&row.channel, row.seq), row);
    }

    pub(super) fn delete(&mut self, channel: &'a ChannelKey, seq: u64) {
        self.0.delete((channel, seq));
    }

    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        let keys = self.0.deletes();
        if !keys.is_empty() {
            let params = arrays!(keys, |key| [
                key.0.kind.name(),
                text(&key.0.key),
                text(&key.0.name),
                int(key.1),
            ]);
            calls.push(Call::new(DELETE, params));
        }
        let rows = self.0.puts();
        if !rows.is_empty() {
            let params = arrays!(rows, |it| [
                it.1.channel.kind.name(),
                text(&it.1.channel.key),
                text(&it.1.channel.name),
                int(it.1.seq),
                id_order(it.1.key.instance),
                int(it.1.key.turn_no),
                i64::from(it.1.key.ordinal),
                id_random(it.1.key.instance),
                text(&it.1.definition),
            ]);
            calls.push(Call::new(PUT, params));
        }
    }
}

/// The longest waiting subscriptions of each channel and definition.
pub(super) fn waiting<'a>(channels: &[(&'a ChannelKey, usize)]) -> Call<'a> {
    Call::new(WAITING, channel_params(channels))
}

pub(super) fn read_waiting(
    answer: &QueryAnswer,
    channels: &[(&ChannelKey, usize)],
) -> Result<BTreeMap<ChannelKey, VecDeque<SubscriptionRow>>, Error> {
    let mut found: BTreeMap<ChannelKey, VecDeque<SubscriptionRow>> = BTreeMap::new();
    for row in &answer.rows {
        let channel = position(row, channels)?;
        found.entry(channel.clone()).or_default().push_back(read(row, 1, channel)?);
    }
    Ok(found)
}
