//! The definitions that messages and broadcasts start.

use meantime_core::{DefinitionId, Trigger};
use meantime_kernel::store::{ChannelKind, DefinitionHead, Error};
use rusqlite::params;

use super::db::Db;
use crate::row::definition::head_columns;
use crate::row::trigger_start::{channel, read};
use crate::row::{int, packed};

const CLEAR: &str = "DELETE FROM trigger_start WHERE definition = ?1";
const PUT: &str = "INSERT OR REPLACE INTO trigger_start \
     (kind, name, definition, definition_id, body) VALUES (?1, ?2, ?3, ?4, ?5)";
const STARTS: &str = concat!(
    "SELECT t.body, ",
    head_columns!(),
    " FROM trigger_start AS t CROSS JOIN definition AS d ON d.id = t.definition_id \
     WHERE t.kind = ?1 AND t.name = ?2 ORDER BY t.definition"
);

#[cfg(test)]
pub(super) const ALL: &[&str] = &[CLEAR, PUT, STARTS];

/// Replaces the triggers of a definition name.
pub(super) fn set(
    db: &Db<'_>,
    name: &str,
    definition: DefinitionId,
    triggers: &[Trigger],
) -> Result<(), Error> {
    db.run(CLEAR, [name])?;
    for trigger in triggers {
        if let Some((kind, channel)) = channel(trigger) {
            let id = int(definition.0);
            db.run(PUT, params![kind.name(), channel, name, id, packed(trigger)])?;
        }
    }
    Ok(())
}

/// The definitions that a message or broadcast of this name starts, by definition name.
pub(super) fn starts(
    db: &Db<'_>,
    kind: ChannelKind,
    name: &str,
) -> Result<Vec<(DefinitionHead, Trigger)>, Error> {
    db.all(STARTS, params![kind.name(), name], |row| read(row, 0))
}
