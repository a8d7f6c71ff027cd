//! Remembered answers by idempotency key.

use meantime_kernel::store::{AnswerRow, Error};
use rusqlite::params;

use super::db::{Db, int, ord, random};

const PUT: &str = "INSERT OR REPLACE INTO answer (key, request, ord, random, expires_at) \
     VALUES (?1, ?2, ?3, ?4, ?5)";
const GET: &str = "SELECT request, ord, random, expires_at FROM answer WHERE key = ?1";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, GET];

pub(super) fn put(db: &Db<'_>, row: &AnswerRow) -> Result<(), Error> {
    let (ord, random) = (ord(row.instance), random(row.instance));
    let expires_at = row.expires_at.as_millis();
    db.run(PUT, params![row.key, int(row.request), ord, random, expires_at]).map(drop)
}

pub(super) fn get(db: &Db<'_>, key: &str) -> Result<Option<AnswerRow>, Error> {
    db.first(GET, [key], |row| {
        Ok(AnswerRow {
            key: key.to_owned(),
            request: row.number(0)?,
            instance: row.instance(1, 2)?,
            expires_at: row.instant(3, "answer")?,
        })
    })
}
