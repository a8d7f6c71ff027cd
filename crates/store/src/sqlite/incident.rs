//! Open incidents.

use meantime_core::{Failure, IncidentId, InstanceId, Json};
use meantime_kernel::store::{Error, IncidentRow, Page};
use rusqlite::{Row, params};

use super::db::Db;
use crate::row::incident::{columns, read_lenient};
use crate::row::{id_order, id_random, packed};

const PUT: &str = concat!(
    "INSERT OR REPLACE INTO incident (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
);
const DELETE: &str = "DELETE FROM incident WHERE id = ?1";
const CLEAR: &str = "DELETE FROM incident WHERE id_order = ?1 AND id_random = ?2";
const GET: &str = concat!("SELECT ", columns!(), " FROM incident WHERE id = ?1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM incident WHERE id > ?1 ORDER BY id");
const OF_INSTANCE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM incident INDEXED BY incident_instance \
     WHERE id_order = ?1 AND id_random = ?2 AND id > ?3 ORDER BY id"
);

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, DELETE, CLEAR, GET, LIST, OF_INSTANCE];

pub(super) fn put(db: &Db<'_>, row: &IncidentRow) -> Result<(), Error> {
    // An incident has an element; a trace belongs to the end of an instance.
    let Failure { code, message, data, .. } = &row.failure;
    db.run(
        PUT,
        params![
            row.id.to_bytes(),
            id_order(row.instance),
            id_random(row.instance),
            row.raised_at.as_millis(),
            row.element,
            code,
            message,
            data.as_ref().map(Json::as_str),
            packed(&row.cause),
        ],
    )?;
    Ok(())
}

pub(super) fn delete(db: &Db<'_>, id: IncidentId) -> Result<(), Error> {
    db.run(DELETE, [id.to_bytes()]).map(drop)
}

pub(super) fn clear(db: &Db<'_>, instance: InstanceId) -> Result<(), Error> {
    db.run(CLEAR, [id_order(instance), id_random(instance)]).map(drop)
}

pub(super) fn get(db: &Db<'_>, id: IncidentId) -> Result<Option<IncidentRow>, Error> {
    Ok(db.first(GET, [id.to_bytes()], |row| read_lenient(row))?.flatten())
}

/// A page of open incidents, oldest first.
pub(super) fn list(
    db: &Db<'_>,
    instance: Option<InstanceId>,
    page: Page<IncidentId>,
) -> Result<Vec<IncidentRow>, Error> {
    // The empty blob comes before every id.
    let after = page.after.map_or_else(Vec::new, |id| id.to_bytes().to_vec());
    let read = |row: &Row<'_>| read_lenient(row);
    match instance {
        None => db.some(LIST, [after], page.limit, read),
        Some(id) => {
            db.some(OF_INSTANCE, params![id_order(id), id_random(id), after], page.limit, read)
        }
    }
}
