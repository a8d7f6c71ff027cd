//! The number of live instances below each root.

use meantime_core::InstanceId;
use meantime_kernel::store::{Error, Tree};
use rusqlite::params;

use super::db::Db;
use crate::row::{Columns, id_order, id_random};

const JOIN: &str = "INSERT INTO tree (id_order, id_random, live) VALUES (?1, ?2, 1) \
     ON CONFLICT (id_order) DO UPDATE SET live = live + 1";
const LEAVE: &str = "UPDATE tree SET live = live - 1 WHERE id_order = ?1 AND live > 1";
const FORGET: &str = "DELETE FROM tree WHERE id_order = ?1";
const FIND: &str = "SELECT live, EXISTS (SELECT 1 FROM instance \
     WHERE instance.id_order = tree.id_order AND phase IN ('failed', 'cancelled')) \
     FROM tree WHERE id_order = ?1";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[JOIN, LEAVE, FORGET, FIND];

pub(super) fn join(db: &Db<'_>, root: InstanceId) -> Result<(), Error> {
    db.run(JOIN, params![id_order(root), id_random(root)]).map(drop)
}

pub(super) fn leave(db: &Db<'_>, root: InstanceId) -> Result<(), Error> {
    if db.run(LEAVE, [id_order(root)])? == 0 {
        db.run(FORGET, [id_order(root)])?;
    }
    Ok(())
}

/// The number below a root; `None` if there are none.
pub(super) fn find(db: &Db<'_>, root: InstanceId) -> Result<Option<Tree>, Error> {
    db.first(FIND, [id_order(root)], |row| {
        Ok(Tree { live: row.number(0)?, is_ending: row.flag(1)? })
    })
}
