//! What messages and broadcasts start.

use meantime_core::{DefinitionId, Trigger};
use meantime_kernel::store::{ChannelKind, DefinitionHead, Error};
use rusqlite::params;

use super::db::{Db, int, packed};
use super::definition;

const CLEAR: &str = "DELETE FROM trigger_start WHERE definition = ?1";
const PUT: &str = "INSERT OR REPLACE INTO trigger_start \
     (kind, name, definition, definition_id, body) VALUES (?1, ?2, ?3, ?4, ?5)";
const STARTS: &str = "SELECT t.body, d.id, d.name, d.version, d.hash, d.retired, d.triggers \
     FROM trigger_start AS t CROSS JOIN definition AS d ON d.id = t.definition_id \
     WHERE t.kind = ?1 AND t.name = ?2 ORDER BY t.definition";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[CLEAR, PUT, STARTS];

/// Replaces what a definition name starts.
pub(super) fn set(
    db: &Db<'_>,
    name: &str,
    definition: DefinitionId,
    triggers: &[Trigger],
) -> Result<(), Error> {
    db.run(CLEAR, [name])?;
    for trigger in triggers {
        let (kind, channel) = match trigger {
            Trigger::Message { name, .. } => (ChannelKind::Message, name),
            Trigger::Signal { name, .. } => (ChannelKind::Broadcast, name),
            // Timer starts are schedules; the deploy has made them.
            Trigger::Timer { .. } => continue,
        };
        let id = int(definition.0);
        db.run(PUT, params![kind.name(), channel, name, id, packed(trigger)])?;
    }
    Ok(())
}

/// What a message or broadcast of the name starts, by definition name.
pub(super) fn starts(
    db: &Db<'_>,
    kind: ChannelKind,
    name: &str,
) -> Result<Vec<(DefinitionHead, Trigger)>, Error> {
    db.all(STARTS, params![kind.name(), name], |row| {
        Ok((definition::head(row, 1)?, row.unpacked(0, "trigger_start")?))
    })
}
