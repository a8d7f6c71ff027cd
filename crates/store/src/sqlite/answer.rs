//! Stored answers by idempotency key.

use meantime_kernel::store::{AnswerRow, Error};
use rusqlite::params;

use super::db::Db;
use crate::row::answer::{columns, read};
use crate::row::{id_order, id_random, int};

const PUT: &str =
    concat!("INSERT OR REPLACE INTO answer (", columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5)");
const GET: &str = concat!("SELECT ", columns!(), " FROM answer WHERE key = ?1");

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, GET];

pub(super) fn put(db: &Db<'_>, row: &AnswerRow) -> Result<(), Error> {
    let (id_order, id_random) = (id_order(row.instance), id_random(row.instance));
    let expires_at = row.expires_at.as_millis();
    db.run(PUT, params![row.key, int(row.request), id_order, id_random, expires_at]).map(drop)
}

pub(super) fn get(db: &Db<'_>, key: &str) -> Result<Option<AnswerRow>, Error> {
    db.first(GET, [key], |row| read(row))
}
