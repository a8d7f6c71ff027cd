//! Outages of the store: every waiting caller gets an answer.
//!
//! ```text
//!   StoreLost ─► waiting callers fail, new commands are refused ─► StoreRestored
//!   no valid lease ─► after `PATIENCE_MS` waiting callers fail
//! ```
//!
//! Work without a caller stays queued: timers, reports of engine tasks, inbox events. A caller
//! whose commit is in doubt gets `store_ambiguous` (I2). The commit is looked up later. If it had
//! no effect, its commands are dropped and not repeated: the caller may have sent them again.

use std::collections::BTreeSet;

use meantime_core::Timestamp;

use super::batch::UnitOrigin;
use super::engine::Machine;
use super::hand_off::HandOff;
use super::io::Output;
use super::mailbox::{Mailbox, Waiter};
use crate::command::Error;
use crate::store;

/// How long callers wait while the node has no valid lease, in milliseconds.
const PATIENCE_MS: i64 = 5_000;

/// The known failures of the store.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// Why the store is unreachable, if it is.
    error: Option<Error>,
    /// When to try again after a failure, in real time.
    resume_at: Option<Timestamp>,
    /// When the waiting callers of a node without a lease fail, in real time.
    fail_callers_at: Option<Timestamp>,
    /// Batches whose commit is in doubt, and those whose callers have been answered already.
    ambiguous: BTreeSet<u64>,
    answered: BTreeSet<u64>,
}

impl Outage {
    /// Tries nothing before this instant.
    pub(super) fn rest_until(&mut self, at: Timestamp) {
        self.resume_at = Some(at);
    }

    /// Ends the pause after a failure.
    pub(super) fn end_rest(&mut self) {
        self.resume_at = None;
    }

    pub(super) fn resume_at(&self) -> Option<Timestamp> {
        self.resume_at
    }

    /// Marks the store as unreachable. Returns whether it was reachable before.
    fn lose(&mut self, error: Error) -> bool {
        self.error.replace(error).is_none()
    }

    /// Marks the store as reachable. Returns whether it was unreachable before.
    fn end(&mut self) -> bool {
        let was_lost = self.error.take().is_some();
        if was_lost {
            self.resume_at = None;
        }
        was_lost
    }

    /// The outcome of a commit is known. Returns whether its callers were answered before.
    fn settle(&mut self, batch: u64) -> bool {
        self.ambiguous.remove(&batch);
        self.answered.remove(&batch)
    }
}

impl Machine {
    /// The store became unreachable.
    pub(super) fn store_lost(&mut self, why: String) {
        // Queued commands were not written, so these callers get a definite error. The callers of
        // commits in doubt get `store_ambiguous` below.
        let told = Error::from(&store::Error::Unavailable(why));
        self.fail_waiting_callers(&told);
        if self.outage.lose(told) {
            self.counters.store_outages += 1;
        }
        for batch in self.outage.ambiguous.clone() {
            self.answer_ambiguous(batch);
        }
    }

    /// The store is reachable again.
    pub(super) fn store_restored(&mut self) {
        if self.outage.end() {
            self.counters.store_recoveries += 1;
        }
    }

    /// Whether the store is known to be unreachable.
    pub fn is_store_lost(&self) -> bool {
        self.outage.error.is_some()
    }

    /// Refuses commands while the store is unreachable.
    pub(super) fn check_store_reachable(&self) -> Result<(), Error> {
        self.outage.error.clone().map_or(Ok(()), Err)
    }

    /// A commit is in doubt. While the store is unreachable, its callers are answered at once: the
    /// lookup may take as long as the outage.
    pub(super) fn mark_ambiguous(&mut self, number: u64) {
        self.outage.ambiguous.insert(number);
        if self.is_store_lost() {
            self.answer_ambiguous(number);
        }
    }

    /// The outcome of a commit is known. Returns whether its callers were answered before.
    pub(super) fn clear_ambiguous(&mut self, number: u64) -> bool {
        self.outage.settle(number)
    }

    /// Answers the callers of a commit in doubt. They keep their tickets: if the commit turns out
    /// to have taken effect, the driver ignores the second answer, and releases tasks that the
    /// commit claimed for them.
    fn answer_ambiguous(&mut self, number: u64) {
        if !self.outage.answered.insert(number) {
            return;
        }
        let message = "the store was lost before it answered the commit".to_owned();
        let told = store::Error::Ambiguous { results: Vec::new(), message };
        let told = Error::from(&told);
        let batch = self.batches.get(number).expect("a commit in doubt is in flight");
        let items = batch.entries.iter().flat_map(|entry| &entry.items).map(|it| it.ticket);
        let global = batch.global.iter().filter(|global| !global.over).map(|it| it.ticket);
        let origins = batch.origins.iter().map(|part| match part {
            UnitOrigin::Detached(Some(pending), _) => pending.ticket,
            _ => None,
        });
        let handed = batch.handed.iter().map(HandOff::parked_ticket);
        let callers: Vec<_> = items.chain(global).chain(origins).chain(handed).flatten().collect();
        for ticket in callers {
            self.output(Output::Reply(ticket, Err(told.clone())));
        }
    }

    /// A node without a valid lease makes no progress, so waiting callers fail after a while.
    pub(super) fn enforce_lease_patience(&mut self) {
        if self.has_lease() || !self.has_waiting_callers() {
            self.outage.fail_callers_at = None;
            return;
        }
        let until = self.clock.saturating_add_millis(PATIENCE_MS);
        let until = *self.outage.fail_callers_at.get_or_insert(until);
        if self.has_passed(until, PATIENCE_MS) {
            self.outage.fail_callers_at = None;
            let why = "the node could not renew its lease in the store".to_owned();
            self.fail_waiting_callers(&Error::from(&store::Error::Unavailable(why)));
        }
    }

    /// When [`Self::enforce_lease_patience`] fails waiting callers.
    pub(super) fn next_caller_failure(&self) -> Option<Timestamp> {
        self.outage.fail_callers_at
    }

    /// Whether a caller waits for a turn or a read.
    fn has_waiting_callers(&self) -> bool {
        self.cluster.has_unresolved()
            || self.global.has_callers()
            || self.claims.levels().0 > 0
            || !self.mailboxes.find(Mailbox::has_callers).is_empty()
    }

    /// Fails all callers whose command is in no batch. A caller whose command is committed gets its
    /// answer now, without waiting for what follows.
    fn fail_waiting_callers(&mut self, told: &Error) {
        for id in self.mailboxes.find(Mailbox::has_callers) {
            let Some(mailbox) = self.mailboxes.get_mut(id) else { continue };
            let waiters: Vec<Waiter> = std::mem::take(&mut mailbox.waiters);
            let callers = self.mailboxes.take_of_callers(id);
            for waiter in waiters {
                self.answer_waiter(waiter);
            }
            for pending in callers {
                self.reply(pending.ticket, Err(told.clone()));
            }
            self.drop_idle(id);
        }
        let callers = self.global.take_callers();
        let unresolved = self.cluster.take_unresolved();
        let claims = self.claims.drain_waiting();
        let unresolved = unresolved.into_iter().map(|(ticket, ..)| ticket);
        for ticket in callers.into_iter().chain(unresolved).chain(claims) {
            self.reply(Some(ticket), Err(told.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_and_ends_once() {
        let mut outage = Outage::default();
        assert!(!outage.end(), "nothing was lost");
        outage.rest_until(Timestamp::MIN);
        assert!(outage.lose(Error::Overloaded));
        assert!(!outage.lose(Error::Overloaded), "that is known");
        assert!(outage.end());
        assert_eq!(outage.resume_at(), None, "there is no reason to rest any longer");
    }

    #[test]
    fn callers_of_a_commit_in_doubt_are_answered_once() {
        let mut outage = Outage::default();
        outage.ambiguous.insert(7);
        assert!(outage.answered.insert(7));
        assert!(outage.settle(7), "they have their answer");
        assert!(!outage.settle(7));
    }
}
