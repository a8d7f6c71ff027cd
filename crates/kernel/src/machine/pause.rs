//! A restored store that is paused, and histories that have become long.
//!
//! A restored store does not contain what was done after its backup. So it starts paused: no turn,
//! timer, claim or engine task, and every command except [`Command::Resume`] is rejected. Reads
//! work. The unfinished work that recovery found is set aside until an operator resumes the store,
//! and the resume is a commit like any other.

use super::engine::Machine;
use super::global_queue::GlobalAction;
use super::io::{Output, Ticket};
use crate::command::{Command, Error, Reply};
use crate::history::AuditInfo;
use crate::store::{CompactRequest, InstanceRow, Recovered};

/// Whether the machine acts on its store.
#[derive(Debug, Default)]
pub(super) enum Lifecycle {
    /// The store is not recovered yet.
    #[default]
    Starting,
    /// The store is a restored copy: its unfinished work waits for an operator.
    Paused(Box<Recovered>),
    /// The machine acts.
    Running,
}

impl Lifecycle {
    pub(super) fn is_recovered(&self) -> bool {
        !matches!(self, Self::Starting)
    }

    fn is_paused(&self) -> bool {
        matches!(self, Self::Paused(_))
    }

    /// The store, or another partition of it, is recovered. Returns the work to go on with, unless
    /// the store is paused.
    ///
    /// A read that is older than the resume is as good as a newer one: nothing could happen to this
    /// work meanwhile but what the fences and leases of its rows tell.
    fn recover(&mut self, recovered: Recovered) -> Option<Recovered> {
        if recovered.paused && !matches!(self, Self::Running) {
            *self = Self::Paused(Box::new(recovered));
            return None;
        }
        *self = Self::Running;
        Some(recovered)
    }

    /// An operator resumes the store. Returns the work to go on with, if it was paused.
    fn resume(&mut self) -> Option<Recovered> {
        if !self.is_paused() {
            return None;
        }
        match std::mem::replace(self, Self::Running) {
            Self::Paused(recovered) => Some(*recovered),
            Self::Starting | Self::Running => None,
        }
    }
}

impl Machine {
    /// Whether the store is restored and has not been resumed.
    pub fn is_paused(&self) -> bool {
        self.lifecycle.is_paused()
    }

    /// Whether the machine acts: its store is recovered, and not paused.
    pub fn is_active(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Running)
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
            let command = Command::Resume { audit };
            self.global.push(GlobalAction::Command(command), Some(ticket));
        } else {
            self.output(Output::Reply(ticket, Ok(Reply::Done)));
        }
    }

    /// The resume is committed: the work that was set aside continues.
    pub(super) fn resumed(&mut self) {
        if let Some(recovered) = self.lifecycle.resume() {
            self.go_on(recovered);
        }
    }

    /// The store, or another partition of it, is recovered: its unfinished work continues, unless
    /// the store is paused.
    pub(super) fn work_recovered(&mut self, recovered: Recovered) {
        if let Some(recovered) = self.lifecycle.recover(recovered) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn recovered(seq: u64, paused: bool) -> Recovered {
        Recovered { paused, seq, ..Recovered::default() }
    }

    #[test]
    fn work_waits_while_the_store_is_paused() {
        let mut lifecycle = Lifecycle::default();
        assert!(!lifecycle.is_recovered());
        assert!(lifecycle.recover(recovered(1, true)).is_none());
        assert!(lifecycle.is_recovered() && lifecycle.is_paused());
        assert!(lifecycle.recover(recovered(2, true)).is_none(), "another partition");
        assert_eq!(lifecycle.resume().map(|it| it.seq), Some(2));
        assert!(lifecycle.resume().is_none(), "it runs");
        assert_eq!(lifecycle.recover(recovered(3, true)).map(|it| it.seq), Some(3), "an old read");
        assert!(!lifecycle.is_paused());
    }

    #[test]
    fn a_read_that_is_not_paused_ends_the_pause() {
        let mut lifecycle = Lifecycle::default();
        lifecycle.recover(recovered(1, true));
        assert_eq!(lifecycle.recover(recovered(2, false)).map(|it| it.seq), Some(2));
        assert!(!lifecycle.is_paused());
    }
}
