//! A restored store that is paused, and histories that have become long.
//!
//! A restored store does not contain what was done after its backup. So it starts paused: no turn,
//! timer, claim or engine task, and every command except [`Command::Resume`] is rejected. Reads
//! work. The unfinished work that recovery found is set aside until an operator resumes the store,
//! and the resume is a commit like any other.

use super::engine::Machine;
use super::io::{Output, Ticket};
use super::mailbox::{GlobalAction, GlobalCommand};
use crate::command::{Command, Error, Reply};
use crate::history::AuditInfo;
use crate::store::{CompactRequest, InstanceRow};

impl Machine {
    /// Whether the store is restored and has not been resumed.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Whether the machine acts: its store is recovered, and not paused.
    pub fn is_active(&self) -> bool {
        self.running && !self.is_paused()
    }

    /// Whether this node runs retention: one of the nodes that share a store does.
    pub fn owns_maintenance(&self) -> bool {
        self.is_active() && self.cluster.partition().index == 0
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

    /// The resume is committed: the work that was set aside continues.
    pub(super) fn resumed(&mut self) {
        if let Some(recovered) = self.paused.take() {
            self.go_on(recovered);
        }
    }

    /// Requests compaction once every quarter of the limit: a compaction reads the history up to
    /// the cut, so it must not run for every turn.
    ///
    /// Failed attempts of a task write history rows without a turn, so `claims` is checked too. It
    /// grows by one with a claim and by one with a failure and can skip a multiple, hence `< 2`.
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
