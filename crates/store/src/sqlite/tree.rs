//! How many live instances there are below a root.

use meantime_core::InstanceId;
use meantime_kernel::store::Error;
use rusqlite::params;

use super::db::Db;
use crate::row::{Columns, ord, random};

const JOIN: &str = "INSERT INTO tree (ord, random, live) VALUES (?1, ?2, 1) \
     ON CONFLICT (ord) DO UPDATE SET live = live + 1";
const LEAVE: &str = "UPDATE tree SET live = live - 1 WHERE ord = ?1 AND live > 1";
const FORGET: &str = "DELETE FROM tree WHERE ord = ?1";
const LIVE: &str = "SELECT live FROM tree WHERE ord = ?1";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[JOIN, LEAVE, FORGET, LIVE];

pub(super) fn join(db: &Db<'_>, root: InstanceId) -> Result<(), Error> {
    db.run(JOIN, params![ord(root), random(root)]).map(drop)
}

pub(super) fn leave(db: &Db<'_>, root: InstanceId) -> Result<(), Error> {
    if db.run(LEAVE, [ord(root)])? == 0 {
        db.run(FORGET, [ord(root)])?;
    }
    Ok(())
}

/// How many there are; none when there is nobody below it.
pub(super) fn live(db: &Db<'_>, root: InstanceId) -> Result<Option<u64>, Error> {
    db.first(LIVE, [ord(root)], |row| row.number(0))
}
