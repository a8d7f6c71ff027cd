//! One unit of a commit that changed an instance: what checkers see while a run goes on.

use meantime_core::Timestamp;
use meantime_kernel::history::Record;
use meantime_kernel::store::{Fence, InstanceRow, Write};

use super::run_record::ObservedTurn;

/// A unit that took effect.
#[derive(Debug, Clone, Copy)]
pub struct CommittedTurn<'a> {
    /// The time of the commit.
    pub now: Timestamp,
    /// The row before; none when it is new, or was accepted by the commit of another.
    pub before: Option<&'a InstanceRow>,
    /// The row after.
    pub after: &'a InstanceRow,
    /// The fence that held.
    pub guard: &'a Fence,
    /// Other rows of the unit.
    pub writes: &'a [Write],
    /// The turn, if the notation was asked.
    pub turn: Option<&'a ObservedTurn>,
}

impl CommittedTurn<'_> {
    /// What history was told.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        let rows = self.writes.iter().filter_map(|write| match write {
            Write::History(row) => Some(row),
            _ => None,
        });
        rows.flat_map(|row| &row.records)
    }
}
