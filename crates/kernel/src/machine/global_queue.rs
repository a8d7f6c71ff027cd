//! Commands that belong to no instance, or not yet, until a batch takes them.

use std::collections::{BTreeMap, VecDeque};

use meantime_core::{IncidentId, Json, TaskId, Timestamp};

use super::claim::ParkedClaim;
use super::io::Ticket;
use crate::command::Command;
use crate::history::AuditInfo;

/// A command that belongs to no instance, or not yet.
#[derive(Debug)]
pub(super) struct GlobalCommand {
    pub(super) action: GlobalAction,
    pub(super) ticket: Option<Ticket>,
    /// It was answered or became an item of an instance: its batch has nothing more to do for it.
    pub(super) over: bool,
}

/// What a global command does.
#[derive(Debug)]
pub(super) enum GlobalAction {
    /// A worker claims tasks, and may have to wait for them.
    Claim(ParkedClaim),
    /// Engine tasks to run: after a restart, or when their delay has passed.
    Redispatch(Vec<TaskId>),
    /// Leased tasks to offer again, each with the end of its lease: their workers may not know of
    /// them, because the server crashed right after it leased them.
    Reoffer(BTreeMap<TaskId, Timestamp>),
    /// Any other command of a caller.
    Command(Command),
}

impl GlobalAction {
    /// The tasks whose rows it needs.
    pub(super) fn tasks(&self) -> Vec<TaskId> {
        match self {
            Self::Command(
                Command::Extend { task, .. }
                | Command::Release { task, .. }
                | Command::Assign { task, .. },
            ) => vec![*task],
            Self::Redispatch(tasks) => tasks.clone(),
            Self::Reoffer(leases) => leases.keys().copied().collect(),
            Self::Claim(_) | Self::Command(_) => Vec::new(),
        }
    }

    /// The incident that an operator retries, or resolves with variables.
    pub(super) fn incident(&self) -> Option<(IncidentId, Option<&Json>, &AuditInfo)> {
        match self {
            Self::Command(Command::RetryIncident { incident, audit }) => {
                Some((*incident, None, audit))
            }
            Self::Command(Command::ResolveIncident { incident, variables, audit }) => {
                Some((*incident, Some(variables), audit))
            }
            _ => None,
        }
    }

    /// The claim, if it is one.
    pub(super) fn claim(&self) -> Option<&ParkedClaim> {
        if let Self::Claim(claim) = self { Some(claim) } else { None }
    }
}

/// The global commands that wait for a batch, in order.
#[derive(Debug, Default)]
pub(super) struct GlobalQueue {
    commands: VecDeque<GlobalCommand>,
}

impl GlobalQueue {
    pub(super) fn len(&self) -> usize {
        self.commands.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Adds a command behind all others; without a ticket nobody waits for its answer.
    pub(super) fn push(&mut self, action: GlobalAction, ticket: Option<Ticket>) {
        self.commands.push_back(GlobalCommand { action, ticket, over: false });
    }

    /// Puts a command of a batch that took no effect before all others.
    pub(super) fn put_back(&mut self, command: GlobalCommand) {
        self.commands.push_front(command);
    }

    /// Takes the first commands.
    pub(super) fn take(&mut self, limit: usize) -> Vec<GlobalCommand> {
        self.commands.drain(..self.commands.len().min(limit)).collect()
    }

    /// Drops the commands that callers wait for, and returns the callers.
    pub(super) fn take_callers(&mut self) -> Vec<Ticket> {
        let tickets = self.commands.iter().filter_map(|command| command.ticket).collect();
        self.commands.retain(|command| command.ticket.is_none());
        tickets
    }

    /// Whether callers wait.
    pub(super) fn has_callers(&self) -> bool {
        self.commands.iter().any(|command| command.ticket.is_some())
    }

    /// Whether the command of a caller is among them.
    pub(super) fn has_pending(&self, ticket: Ticket) -> bool {
        self.commands.iter().any(|command| command.ticket == Some(ticket))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut GlobalCommand> {
        self.commands.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redispatch() -> GlobalAction {
        GlobalAction::Redispatch(Vec::new())
    }

    fn tickets(commands: &[GlobalCommand]) -> Vec<Option<Ticket>> {
        commands.iter().map(|command| command.ticket).collect()
    }

    #[test]
    fn commands_keep_their_order_also_when_their_batch_takes_no_effect() {
        let mut queue = GlobalQueue::default();
        for number in 1..=3 {
            queue.push(redispatch(), Some(Ticket(number)));
        }
        let taken = queue.take(2);
        assert_eq!(tickets(&taken), [Some(Ticket(1)), Some(Ticket(2))]);
        assert!(queue.has_pending(Ticket(3)) && !queue.has_pending(Ticket(1)));
        taken.into_iter().rev().for_each(|command| queue.put_back(command));
        let wanted = [Some(Ticket(1)), Some(Ticket(2)), Some(Ticket(3))];
        assert_eq!(tickets(&queue.take(10)), wanted);
        assert!(queue.is_empty());
    }

    #[test]
    fn what_no_caller_waits_for_stays_when_callers_give_up() {
        let mut queue = GlobalQueue::default();
        queue.push(redispatch(), None);
        queue.push(redispatch(), Some(Ticket(1)));
        assert!(queue.has_callers());
        assert_eq!(queue.take_callers(), [Ticket(1)]);
        assert!(!queue.has_callers());
        assert_eq!(tickets(&queue.take(10)), [None]);
    }
}
