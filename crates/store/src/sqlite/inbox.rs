//! Inboxes: stored events that wait for a turn.

use meantime_core::{IncidentId, InstanceId};
use meantime_kernel::store::{Error, InboxRow};
use rusqlite::params;

use super::db::Db;
use crate::row::inbox::{columns, read};
use crate::row::{Columns, id_order, id_random, int, packed};

const PUT: &str =
    concat!("INSERT OR REPLACE INTO inbox (", columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
const DELETE: &str = "DELETE FROM inbox WHERE id_order = ?1 AND seq = ?2";
const RELEASE: &str = "UPDATE inbox SET held_by = NULL WHERE id_order = ?1 AND held_by = ?2";
const CLEAR_HELD: &str = "DELETE FROM inbox WHERE id_order = ?1 AND held_by IS NOT NULL";
const HEAD: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM inbox WHERE id_order = ?1 AND id_random = ?2 AND held_by IS NULL ORDER BY seq"
);
const OWNERS: &str = "SELECT DISTINCT id_order, id_random FROM inbox WHERE held_by IS NULL";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, DELETE, RELEASE, CLEAR_HELD, HEAD, OWNERS];

pub(super) fn put(db: &Db<'_>, row: &InboxRow) -> Result<(), Error> {
    let held = row.held.map(IncidentId::to_bytes);
    let origin = row.origin.as_ref().map(packed);
    db.run(
        PUT,
        params![
            id_order(row.instance),
            int(row.seq),
            id_random(row.instance),
            row.at.as_millis(),
            held,
            origin,
            packed(&row.event),
        ],
    )?;
    Ok(())
}

pub(super) fn delete(db: &Db<'_>, instance: InstanceId, seq: u64) -> Result<(), Error> {
    db.run(DELETE, [id_order(instance), int(seq)]).map(drop)
}

/// Releases the events that an incident holds.
pub(super) fn release(
    db: &Db<'_>,
    instance: InstanceId,
    incident: IncidentId,
) -> Result<(), Error> {
    db.run(RELEASE, params![id_order(instance), incident.to_bytes()]).map(drop)
}

/// Deletes the held events of an instance that ended.
pub(super) fn clear_held(db: &Db<'_>, instance: InstanceId) -> Result<(), Error> {
    db.run(CLEAR_HELD, [id_order(instance)]).map(drop)
}

/// The first events that are not held.
pub(super) fn head(
    db: &Db<'_>,
    instance: InstanceId,
    limit: usize,
) -> Result<Vec<InboxRow>, Error> {
    db.some(HEAD, [id_order(instance), id_random(instance)], limit, |row| read(row).map(Some))
}

/// Instances with events that are not held.
pub(super) fn owners(db: &Db<'_>) -> Result<Vec<InstanceId>, Error> {
    db.all(OWNERS, [], |row| row.instance(0, 1))
}
