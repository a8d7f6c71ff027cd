//! One unit of a commit that changed an instance, as checkers see it during a run.

use meantime_core::Timestamp;
use meantime_kernel::history::Record;
use meantime_kernel::store::{Fence, InstanceRow, Write};

use super::run_record::ObservedTurn;

/// A unit that took effect.
#[derive(Debug, Clone, Copy)]
pub struct CommittedTurn<'a> {
    /// The time of the commit.
    pub now: Timestamp,
    /// The row before; `None` if the row is new, or was inserted by the commit of another instance.
    pub before: Option<&'a InstanceRow>,
    /// The row after.
    pub after: &'a InstanceRow,
    /// The fence of the unit, which held.
    pub fence: &'a Fence,
    /// The other writes of the unit.
    pub writes: &'a [Write],
    /// The computed turn, if the notation was called.
    pub turn: Option<&'a ObservedTurn>,
}

impl CommittedTurn<'_> {
    /// The history records of the unit.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        let rows = self.writes.iter().filter_map(|write| match write {
            Write::History(row) => Some(row),
            _ => None,
        });
        rows.flat_map(|row| &row.records)
    }
}
