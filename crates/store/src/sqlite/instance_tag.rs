//! Tags and attributes to find instances by.

use meantime_core::{Attribute, InstanceId};
use meantime_kernel::store::Error;
use rusqlite::params;

use super::db::{Db, ord};

const PUT: &str = "INSERT INTO instance_tag (tag, ord) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[PUT];

/// Adds tags; an attribute is the tag `name=value`.
pub(super) fn put(
    db: &Db<'_>,
    instance: InstanceId,
    tags: &[String],
    attributes: &[Attribute],
) -> Result<(), Error> {
    let named = attributes.iter().map(|it| format!("{}={}", it.name, it.value));
    for tag in tags.iter().cloned().chain(named) {
        db.run(PUT, params![tag, ord(instance)])?;
    }
    Ok(())
}
