//! Inboxes: stored events that wait for a turn.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{IncidentId, InstanceId};
use meantime_kernel::store::{Error, InboxRow, Partition};

use super::connection::{Call, QueryAnswer, arrays, values};
use super::keyed::Keyed;
use crate::row::inbox::{columns, read};
use crate::row::{Columns, id_order, id_random, int, packed};

const PUT: &str = concat!(
    "INSERT INTO inbox (",
    columns!(),
    ") SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], \
     $6::bytea[], $7::bytea[]) ON CONFLICT (id_order, seq) DO UPDATE SET id_random = \
     excluded.id_random, \
     arrived_at = excluded.arrived_at, held_by = excluded.held_by, origin = excluded.origin, \
     event = excluded.event"
);
const DELETE: &str = "DELETE FROM inbox WHERE ctid = ANY (ARRAY( \
     SELECT (SELECT ctid FROM inbox AS i WHERE i.id_order = k.id_order AND i.seq = k.seq) \
     FROM unnest($1::bigint[], $2::bigint[]) AS k (id_order, seq)))";
const RELEASE: &str = "UPDATE inbox SET held_by = NULL WHERE ctid = ANY (ARRAY( \
     SELECT i.ctid FROM unnest($1::bigint[], $2::bytea[]) AS k (id_order, held_by) CROSS JOIN \
     LATERAL \
     (SELECT ctid FROM inbox WHERE id_order = k.id_order AND held_by = k.held_by OFFSET 0) AS i))";
const CLEAR_HELD: &str =
    "DELETE FROM inbox WHERE id_order = ANY ($1::bigint[]) AND held_by IS NOT NULL";
const HEADS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM unnest($1::bigint[], $2::bigint[]) AS w (of_id_order, of_id_random) CROSS JOIN LATERAL \
     (SELECT * FROM inbox WHERE id_order = w.of_id_order AND id_random = w.of_id_random AND \
     held_by IS NULL \
     ORDER BY seq LIMIT $3) AS i ORDER BY id_order, seq"
);
const OWNERS: &str = "SELECT DISTINCT id_order, id_random FROM inbox \
     WHERE held_by IS NULL AND (id_random & 255) % $1 = $2";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PUT, DELETE, RELEASE, CLEAR_HELD, HEADS, OWNERS];

/// The changes of a plan to inboxes.
#[derive(Default)]
pub(super) struct Changes<'a> {
    /// Rows, each with the incident that holds it in the end.
    rows: Keyed<(InstanceId, u64), (&'a InboxRow, Option<IncidentId>)>,
    releases: BTreeSet<(InstanceId, IncidentId)>,
    clears: BTreeSet<InstanceId>,
}

impl<'a> Changes<'a> {
    pub(super) fn put(&mut self, row: &'a InboxRow) {
        self.rows.put((row.instance, row.seq), (row, row.held));
    }

    pub(super) fn delete(&mut self, instance: InstanceId, seq: u64) {
        self.rows.delete((instance, seq));
    }

    /// Releases the events that an incident holds.
    pub(super) fn release(&mut self, instance: InstanceId, incident: IncidentId) {
        let held = self.rows.put_mut().filter(|((of, _), _)| *of == instance);
        for (_, (_, held_by)) in held {
            *held_by = held_by.filter(|it| *it != incident);
        }
        // Events that were deleted before are not held any more.
        if !self.clears.contains(&instance) {
            self.releases.insert((instance, incident));
        }
    }

    /// Deletes the held events of an instance that ended.
    pub(super) fn clear_held(&mut self, instance: InstanceId) {
        self.rows.forget(|(of, _), (_, held_by)| *of == instance && held_by.is_some());
        self.clears.insert(instance);
    }

    /// Statements about many rows come first: they must not affect rows that the plan puts.
    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        if !self.releases.is_empty() {
            let pairs: Vec<_> = self.releases.iter().collect();
            let params = arrays!(pairs, |it| [id_order(it.0), it.1.to_bytes().to_vec()]);
            calls.push(Call::new(RELEASE, params));
        }
        if !self.clears.is_empty() {
            let orders: Vec<i64> = self.clears.iter().copied().map(id_order).collect();
            calls.push(Call::new(CLEAR_HELD, values![orders]));
        }
        let keys = self.rows.deletes();
        if !keys.is_empty() {
            let params = arrays!(keys, |key| [id_order(key.0), int(key.1)]);
            calls.push(Call::new(DELETE, params));
        }
        let rows = self.rows.puts();
        if !rows.is_empty() {
            let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
            let params = arrays!(rows, |it| [
                id_order(it.0.instance),
                int(it.0.seq),
                id_random(it.0.instance),
                it.0.at.as_millis(),
                it.1.map(|incident| incident.to_bytes().to_vec()),
                it.0.origin.as_ref().map(packed),
                packed(&it.0.event),
            ]);
            calls.push(Call::new(PUT, params));
        }
    }
}

/// The first events of each instance that are not held.
pub(super) fn heads(instances: &[InstanceId], limit: usize) -> Call<'static> {
    let mut params = arrays!(instances, |id| [id_order(*id), id_random(*id)]);
    params.extend(values![i64::try_from(limit).unwrap_or(i64::MAX)]);
    Call::new(HEADS, params)
}

/// Reads the heads. Instances with an event that cannot be decoded are returned separately.
pub(super) fn read_heads(
    answer: &QueryAnswer,
    damaged: &mut BTreeMap<InstanceId, String>,
) -> Result<BTreeMap<InstanceId, Vec<InboxRow>>, Error> {
    let mut heads: BTreeMap<InstanceId, Vec<InboxRow>> = BTreeMap::new();
    for row in &answer.rows {
        match read(row) {
            Err(error @ Error::DamagedRow(_)) => {
                damaged.insert(row.instance(0, 2)?, error.to_string());
            }
            read => {
                let row = read?;
                heads.entry(row.instance).or_default().push(row);
            }
        }
    }
    Ok(heads)
}

/// Instances of a partition with events that are not held.
pub(super) fn owners(partition: Partition) -> Call<'static> {
    Call::new(OWNERS, values![i64::from(partition.count.max(1)), i64::from(partition.index)])
}

pub(super) fn read_owners(answer: &QueryAnswer) -> Result<Vec<InstanceId>, Error> {
    answer.read(|row| row.instance(0, 1))
}
