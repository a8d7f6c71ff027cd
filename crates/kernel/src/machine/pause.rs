//! A restored copy that may not act yet, and history that has become long.
//!
//! A copy of the past does not know what has been done since. So it starts paused: no turn, no
//! timer, no claim, no task of the engine, and every command but [`Command::Resume`] is refused.
//! Reading works. What the store had left to do is kept aside until somebody confirms, and the
//! confirmation is a commit like any other.

use super::engine::Machine;
use super::io::{Output, Ticket};
use super::mailbox::{GlobalAction, GlobalCommand};
use crate::command::{Command, Error, Reply};
use crate::history::AuditInfo;
use crate::store::{CompactRequest, InstanceRow};

impl Machine {
    /// Whether the store is a restored copy that nobody has confirmed.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Whether this node removes what is old: one of those that share a store does.
    pub fn owns_maintenance(&self) -> bool {
        self.running && !self.is_paused() && self.cluster.partition().index == 0
    }

    pub(super) fn check_paused(&self, command: &Command) -> Result<(), Error> {
        if self.is_paused() && !matches!(command, Command::Resume { .. }) {
            return Err(Error::Paused);
        }
        Ok(())
    }

    pub(super) fn resume(&mut self, ticket: Ticket, audit: AuditInfo) {
        if self.is_paused() {
            self.global.push_back(GlobalCommand::new(GlobalAction::Resume { audit }, Some(ticket)));
        } else {
            self.output(Output::Reply(ticket, Ok(Reply::Done)));
        }
    }

    /// The confirmation is durable.
    pub(super) fn resumed(&mut self) {
        if let Some(recovered) = self.paused.take() {
            self.go_on(recovered);
        }
    }

    /// Asks for older history to be dropped, now and then: reading a chain to its cut costs as
    /// much as it is long, so it is done once for many turns.
    ///
    /// Attempts of a task leave rows without being turns. `claims` counts them: it grows by one
    /// with a claim and by one with a failure, so that every second number may be passed over.
    pub(super) fn cut_history(&mut self, row: &InstanceRow, claims: u32) {
        let keep = self.limits.history_turns.max(1);
        let step = (keep / 4).max(1);
        let turns = usize::try_from(row.turn_no).unwrap_or(usize::MAX);
        let claims = usize::try_from(claims).unwrap_or(usize::MAX);
        if (turns > keep && turns.is_multiple_of(step)) || (claims > keep && claims % step < 2) {
            let (instance, limit) = (row.id, self.limits.purge_rows);
            self.output(Output::Compact(CompactRequest { instance, keep, limit }));
        }
    }
}
