//! The tables with packed rows, for the check that every row can be decoded. Live instances are
//! checked separately.

use meantime_core::TaskId;
use meantime_kernel::store::{ChannelKey, ChannelKind, Error};

use super::{Columns, definition, inbox, incident, message, task};

/// A table with packed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Task,
    Inbox,
    Message,
    Incident,
    Definition,
}

impl Table {
    pub(crate) const ALL: [Self; 5] =
        [Self::Task, Self::Inbox, Self::Message, Self::Incident, Self::Definition];

    /// Selects all rows.
    pub(crate) const fn select(self) -> &'static str {
        match self {
            Self::Task => concat!("SELECT ", task::columns!(), " FROM task"),
            Self::Inbox => concat!("SELECT ", inbox::columns!(), " FROM inbox"),
            // Names are not packed, and a file of an earlier release has no such column.
            Self::Message => "SELECT name, seq, expires_at, payload, '' FROM message",
            Self::Incident => concat!("SELECT ", incident::columns!(), " FROM incident"),
            Self::Definition => concat!(
                "SELECT ",
                definition::columns!(),
                " FROM definition AS d JOIN definition_source AS s ON s.definition_id = d.id"
            ),
        }
    }

    /// The problem of a row, if it has one.
    pub(crate) fn problem(self, row: &impl Columns) -> Result<Option<String>, Error> {
        let read = match self {
            Self::Task => task::read(row).map(drop),
            Self::Inbox => inbox::read(row).map(drop),
            Self::Message => {
                let (kind, name) = (ChannelKind::Message, String::new());
                message::read(row, 1, &ChannelKey { kind, key: String::new(), name }).map(drop)
            }
            Self::Incident => incident::read(row).map(drop),
            Self::Definition => definition::read(row).map(drop),
        };
        let error = match read {
            Ok(()) => return Ok(None),
            Err(error @ Error::DamagedRow(_)) => error,
            Err(error) => return Err(error),
        };
        let of = match self {
            Self::Task => TaskId(row.effect(0, "task")?).to_string(),
            Self::Inbox => row.instance(0, 2)?.to_string(),
            Self::Incident => row.instance(1, 2)?.to_string(),
            Self::Message => row.text(0).unwrap_or_default(),
            Self::Definition => row.text(1).unwrap_or_default(),
        };
        Ok(Some(format!("{of}: {error}")))
    }
}
