//! Tags and attributes by which instances are found.

use meantime_core::{Attribute, InstanceId};
use meantime_kernel::store::Error;
use rusqlite::params;

use super::db::Db;
use crate::row::{Columns, id_order};

const PUT: &str = "INSERT INTO instance_tag (tag, id_order) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

const LIVE: &str = "SELECT i.id_order, i.id_random FROM instance_tag AS t CROSS JOIN instance AS i \
     ON i.id_order = t.id_order WHERE t.tag = ?1 AND i.ended_at IS NULL ORDER BY t.id_order";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT, LIVE];

/// Live instances with a tag, oldest first.
pub(super) fn live(db: &Db<'_>, tag: &str) -> Result<Vec<InstanceId>, Error> {
    db.all(LIVE, [tag], |row| row.instance(0, 1))
}

/// Adds tags; an attribute is the tag `name=value`.
pub(super) fn put(
    db: &Db<'_>,
    instance: InstanceId,
    tags: &[String],
    attributes: &[Attribute],
) -> Result<(), Error> {
    let named = attributes.iter().map(|it| format!("{}={}", it.name, it.value));
    for tag in tags.iter().cloned().chain(named) {
        db.run(PUT, params![tag, id_order(instance)])?;
    }
    Ok(())
}
