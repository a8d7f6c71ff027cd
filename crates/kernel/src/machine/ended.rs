//! Items and events for an instance that has ended or does not exist.

use std::collections::BTreeMap;

use meantime_core::{Event, Failure, InstanceId, TaskCause, TaskId, TaskOutcome};

use super::batch::{Batch, UnitOrigin};
use super::engine::Machine;
use super::io::Output;
use super::mailbox::MailboxItem;
use super::report::{
    LEASE_EXPIRED, after_report, done, expire, has_expired, has_timed_out, token_holds,
};
use super::turn_builder::TurnBuilder;
use crate::command::{Error, Reply, Report};
use crate::store::{Fence, InboxRow, IncidentCause, InstanceRow, TaskRow, TaskState, Unit, Write};

impl Machine {
    /// An instance that has ended or does not exist accepts nothing: callers are answered.
    pub(super) fn answer_ended(
        &mut self,
        batch: &mut Batch,
        index: usize,
        row: Option<InstanceRow>,
        inbox: Vec<InboxRow>,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) {
        let entry = batch.entry_mut(index);
        let id = entry.id;
        let items = std::mem::take(&mut entry.items);
        for pending in items {
            let known = row.is_some();
            let task = pending.item.task().and_then(|id| tasks.get(&id));
            if let Some(task) = task.filter(|task| task.spec.detached)
                && let Some(after) = detached_after(task, &pending.item, self)
            {
                let fence = Fence::Task { row: after.clone(), claims: task.claims };
                let origin = UnitOrigin::Detached(Some(Box::new(pending)), after);
                batch.add_unit(Unit { fence, ..Unit::default() }, origin);
                continue;
            }
            if let MailboxItem::Incident { row, .. } = &pending.item
                && row.cause == IncidentCause::Damage
            {
                let writes = vec![Write::DeleteIncident(row.id)];
                let origin = UnitOrigin::Aside(pending.ticket);
                batch.add_unit(Unit { writes, ..Unit::default() }, origin);
                continue;
            }
            if let Some(ticket) = pending.ticket {
                let answer = ended_answer(&pending.item, id, known);
                if matches!(answer, Err(Error::LeaseLost(_))) {
                    self.counters.leases_lost += 1;
                }
                self.output(Output::Reply(ticket, answer));
            } else if matches!(pending.item, MailboxItem::Timer(_)) {
                // Stale: the instance ended after the timer was queued, and its end has cancelled
                // the timer.
                self.counters.stale_fires += 1;
            }
        }
        if let Some(row) = row.filter(|_| !inbox.is_empty()) {
            // Events that arrived after the end return to their buffer or are dropped.
            let mut builder = Box::new(TurnBuilder::new(row, false));
            builder.more_inbox = inbox.len() >= self.limits.events_per_turn;
            let mut env = self.env(tasks);
            for row in inbox {
                builder.put_back(row, &mut env);
            }
            batch.add_turn(index, builder);
        }
    }
}

/// The new row of a detached task whose instance has ended, after a report, a timeout or an expiry.
/// None if the item is stale: the task is done, the token is no longer valid, or the lease has
/// ended.
fn detached_after(task: &TaskRow, item: &MailboxItem, machine: &Machine) -> Option<Box<TaskRow>> {
    let now = machine.now.engine;
    match item {
        _ if task.state == TaskState::Done => None,
        MailboxItem::Report { token, report, .. } => token_holds(task, *token, machine.epoch)
            .then(|| Box::new(after_report(task, report, TaskCause::Reported, now))),
        MailboxItem::AttemptTimedOut(_) if has_timed_out(task, machine.now) => {
            let (failure, retryable) = (Failure::new("TASK_TIMEOUT", "it took too long"), true);
            let (retry_after_ms, thrown) = (None, None);
            let report = Report::Failed { failure, retryable, retry_after_ms, thrown };
            Some(Box::new(after_report(task, &report, TaskCause::Timeout, now)))
        }
        MailboxItem::LeaseExpired(_) if has_expired(task, machine.now) => {
            let mut again = task.clone();
            expire(&mut again, now);
            // No instance is left that could show an incident: the last allowed expiry is the
            // outcome.
            if again.expiries >= machine.limits.lease_expiries {
                let text = format!("{} leases in a row expired", again.expiries);
                let (failure, cause) = (Failure::new(LEASE_EXPIRED, text), TaskCause::LeaseExpired);
                again = done(task, TaskOutcome::Failed { failure, cause, thrown: None }, now);
            }
            Some(Box::new(again))
        }
        _ => None,
    }
}

fn ended_answer(item: &MailboxItem, id: InstanceId, known: bool) -> Result<Reply, Error> {
    match item {
        MailboxItem::Report { task, .. } if known => Err(Error::LeaseLost(*task)),
        MailboxItem::Report { task, .. } | MailboxItem::OperatorReport { task, .. } => {
            Err(Error::UnknownTask(*task))
        }
        MailboxItem::Edit { timer, .. } => Err(Error::UnknownTimer(*timer)),
        MailboxItem::Incident { row, .. } => Err(Error::UnknownIncident(row.id)),
        _ if !known => Err(Error::UnknownInstance(id)),
        // Cancelling an ended instance changes nothing and is not an error.
        MailboxItem::Event(Event::Cancel { .. }, _) | MailboxItem::Await => Ok(Reply::Done),
        _ => Err(Error::InstanceEnded(id)),
    }
}
