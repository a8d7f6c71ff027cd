//! Outages of the store: every waiting caller gets an answer.
//!
//! ```text
//!   StoreLost ─► waiting callers fail, new commands are refused ─► StoreRestored
//!   no valid lease ─► after `PATIENCE_MS` waiting callers fail
//! ```
//!
//! Work that belongs to no caller stays queued: timers, reports of engine tasks, inbox events. A
//! caller whose commit is in doubt gets `store_ambiguous` (I2). The commit is still looked up
//! later. If it took no effect, its commands are dropped, because the caller may have sent them
//! again.

use meantime_core::{InstanceId, Timestamp};

use super::batch::UnitOrigin;
use super::engine::Machine;
use super::io::Output;
use super::mailbox::{GlobalCommand, Mailbox, PendingItem, Waiter};
use crate::command::Error;
use crate::store;

/// How long callers wait while the node has no valid lease, in milliseconds.
const PATIENCE_MS: i64 = 5_000;

impl Machine {
    /// The store became unreachable.
    pub(super) fn store_lost(&mut self, why: String) {
        if self.store_error.is_none() {
            self.counters.store_outages += 1;
        }
        let told = Error::from(&store::Error::Unavailable(why));
        self.fail_waiting_callers(&told);
        self.store_error = Some(told);
        for batch in self.ambiguous_batches.clone() {
            self.answer_ambiguous(batch);
        }
    }

    /// The store is reachable again.
    pub(super) fn store_restored(&mut self) {
        if self.store_error.take().is_some() {
            self.counters.store_recoveries += 1;
            self.resume_at = None;
        }
    }

    /// Whether the store is known to be unreachable.
    pub fn is_store_lost(&self) -> bool {
        self.store_error.is_some()
    }

    /// Refuses commands while the store is unreachable.
    pub(super) fn check_store_reachable(&self) -> Result<(), Error> {
        self.store_error.clone().map_or(Ok(()), Err)
    }

    /// A commit is in doubt. While the store is unreachable its callers are answered at once.
    pub(super) fn mark_ambiguous(&mut self, number: u64) {
        self.ambiguous_batches.insert(number);
        if self.is_store_lost() {
            self.answer_ambiguous(number);
        }
    }

    /// The outcome of a commit is known. Returns whether its callers were answered before.
    pub(super) fn clear_ambiguous(&mut self, number: u64) -> bool {
        self.ambiguous_batches.remove(&number);
        self.answered_ambiguous.remove(&number)
    }

    /// Answers the callers of a commit in doubt. They keep their tickets: the driver ignores a
    /// second answer, and releases tasks that the commit claimed for them.
    fn answer_ambiguous(&mut self, number: u64) {
        if !self.answered_ambiguous.insert(number) {
            return;
        }
        let message = "the store was lost before it said whether it did this".to_owned();
        let told = store::Error::Ambiguous { results: Vec::new(), message };
        let told = Error::from(&told);
        let Some(batch) = self.batches.get(&number) else { return };
        let items = batch.entries.iter().flat_map(|entry| &entry.items).map(|it| it.ticket);
        let global = batch.global.iter().filter(|global| !global.over).map(|it| it.ticket);
        let origins = batch.origins.iter().map(|part| match part {
            UnitOrigin::Detached(Some(pending), _) => pending.ticket,
            _ => None,
        });
        let callers: Vec<_> = items.chain(global).chain(origins).flatten().collect();
        for ticket in callers {
            self.output(Output::Reply(ticket, Err(told.clone())));
        }
    }

    /// A node without a valid lease makes no progress: waiting callers fail after a while.
    pub(super) fn enforce_lease_patience(&mut self) {
        if self.has_lease() || !self.has_waiting_callers() {
            self.fail_callers_at = None;
            return;
        }
        let until = self.clock.saturating_add_millis(PATIENCE_MS);
        let until = *self.fail_callers_at.get_or_insert(until);
        if self.has_passed(until, PATIENCE_MS) {
            self.fail_callers_at = None;
            let why = "the node could not renew its lease in the store".to_owned();
            self.fail_waiting_callers(&Error::from(&store::Error::Unavailable(why)));
        }
    }

    /// When [`Self::enforce_lease_patience`] fails waiting callers.
    pub(super) fn next_caller_failure(&self) -> Option<Timestamp> {
        self.fail_callers_at
    }

    /// Whether a caller waits for a turn or a read.
    fn has_waiting_callers(&self) -> bool {
        let waits = |mailbox: &Mailbox| {
            !mailbox.waiters.is_empty() || mailbox.pending.iter().any(|it| it.ticket.is_some())
        };
        !self.unresolved.is_empty()
            || self.global.iter().any(|global| global.ticket.is_some())
            || self.claims.levels().0 > 0
            || self.mailboxes.values().any(waits)
    }

    /// Fails all callers whose command is in no batch. A caller whose command is durable gets its
    /// answer without waiting for what follows.
    fn fail_waiting_callers(&mut self, told: &Error) {
        let waits = |mailbox: &&Mailbox| {
            !mailbox.waiters.is_empty() || mailbox.pending.iter().any(|it| it.ticket.is_some())
        };
        let ids = self.mailboxes.iter().filter(|(_, mailbox)| waits(mailbox)).map(|(id, _)| *id);
        for id in ids.collect::<Vec<InstanceId>>() {
            let Some(mailbox) = self.mailboxes.get_mut(&id) else { continue };
            let waiters: Vec<Waiter> = std::mem::take(&mut mailbox.waiters);
            let is_callers = |it: &PendingItem| it.ticket.is_some();
            let (callers, kept): (Vec<_>, Vec<_>) =
                std::mem::take(&mut mailbox.pending).into_iter().partition(is_callers);
            mailbox.pending = kept.into();
            for waiter in waiters {
                self.answer_waiter(waiter);
            }
            for pending in callers {
                self.queued = self.queued.saturating_sub(1);
                self.queued_bytes = self.queued_bytes.saturating_sub(pending.bytes);
                self.reply(pending.ticket, Err(told.clone()));
            }
            self.drop_idle(id);
        }
        let (callers, kept): (Vec<GlobalCommand>, Vec<GlobalCommand>) =
            std::mem::take(&mut self.global).into_iter().partition(|it| it.ticket.is_some());
        self.global = kept.into();
        let unresolved = std::mem::take(&mut self.unresolved);
        let claims = self.claims.drain_waiting();
        let callers = callers.into_iter().filter_map(|global| global.ticket);
        let unresolved = unresolved.into_iter().map(|(ticket, ..)| ticket);
        for ticket in callers.chain(unresolved).chain(claims).collect::<Vec<_>>() {
            self.reply(Some(ticket), Err(told.clone()));
        }
    }
}
