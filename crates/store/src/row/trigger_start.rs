//! The definitions that messages and broadcasts start.

use meantime_core::Trigger;
use meantime_kernel::store::{ChannelKind, DefinitionHead, Error};

use super::{Columns, definition};

/// The channel of a trigger: its kind, and the name of the message or signal.
pub(crate) fn channel(trigger: &Trigger) -> Option<(ChannelKind, &str)> {
    match trigger {
        Trigger::Message { name, .. } => Some((ChannelKind::Message, name)),
        Trigger::Signal { name, .. } => Some((ChannelKind::Broadcast, name)),
        // Timer triggers are schedules, which the deploy has created.
        Trigger::Timer { .. } => None,
    }
}

/// Reads the packed trigger and `head_columns!` of its definition, from a column on.
pub(crate) fn read(row: &impl Columns, from: usize) -> Result<(DefinitionHead, Trigger), Error> {
    Ok((definition::head(row, from + 1)?, row.unpacked(from, "trigger_start")?))
}
