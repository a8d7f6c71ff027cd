//! Tasks for workers: waiting claims, leases that may expire, retries that are not due yet.
//!
//! The stored rows decide; this is only a schedule of when to look at them again, so that nothing
//! polls (I12). A waiting claim needs no thread and no query: a commit that makes a task ready
//! wakes the first claim that matches it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use meantime_core::{Limits, TaskId, TaskKind, Timestamp};

use super::io::Ticket;
use super::mailbox::MailboxItem;
use crate::clock::Now;
use crate::command::ClaimCommand;
use crate::store::{ClaimQuery, TaskRow, TaskState, WaitingTask};

/// The most offers remembered for claims that are about to wait.
const REMEMBERED_OFFERS: usize = 1_024;

/// A claim, possibly waiting for a task.
#[derive(Debug, Clone)]
pub(super) struct ParkedClaim {
    pub(super) command: ClaimCommand,
    /// The real time at which the worker stops waiting.
    pub(super) until: Timestamp,
    /// The number of offers when the store was asked.
    pub(super) seen: Cell<u64>,
    /// All tasks found by the query were taken by others or past their deadline: there may be more
    /// after them.
    pub(super) was_crowded_out: Cell<bool>,
    /// Queue and type of the task that woke it: the claims behind it were not woken for this task.
    offer: Option<(String, Option<String>)>,
}

impl ParkedClaim {
    pub(super) fn new(mut command: ClaimCommand, real: Timestamp, limits: &Limits) -> Self {
        command.max = command.max.min(limits.claim_tasks);
        command.lease_ms = command.lease_ms.min(limits.lease_ms);
        let wait = i64::try_from(command.wait_ms).unwrap_or(i64::MAX);
        Self {
            command,
            until: real.saturating_add_millis(wait),
            seen: Cell::new(0),
            was_crowded_out: Cell::new(false),
            offer: None,
        }
    }

    pub(super) fn query(&self, limit: usize, busy: &BTreeSet<TaskId>) -> ClaimQuery {
        let (types, queues) = (self.command.types.clone(), self.command.queues.clone());
        ClaimQuery { types, queues, limit, busy: busy.clone() }
    }

    fn suits(&self, queue: &str, name: &str) -> bool {
        let ClaimCommand { types, queues, .. } = &self.command;
        (types.is_empty() || types.iter().any(|it| it == name))
            && (queues.iter().any(|it| it == queue) || (queues.is_empty() && queue.is_empty()))
    }
}

/// The schedule of tasks, and the waiting claims.
#[derive(Debug, Default)]
pub(super) struct Claims {
    parked: VecDeque<(Ticket, ParkedClaim)>,
    woken: Vec<(Ticket, ParkedClaim)>,
    redispatch: Vec<TaskId>,
    waits: BTreeMap<TaskId, Waits>,
    leases: BTreeSet<(Timestamp, TaskId)>,
    timeouts: BTreeSet<(Timestamp, TaskId)>,
    delays: BTreeSet<(Timestamp, TaskId)>,
    /// The latest offers, so that a claim that is about to wait finds those it missed.
    offers: VecDeque<(String, Option<String>)>,
    offered: u64,
    /// Whether other nodes have workers too.
    shared: bool,
    /// Offers for which no claim of this node waited.
    unwanted: BTreeSet<(String, Option<String>)>,
    /// Tasks that a batch in flight leases.
    pub(super) busy: BTreeSet<TaskId>,
    /// The commit whose results are being applied.
    pub(super) commit: u64,
}

/// When to look at one task again.
#[derive(Debug)]
struct Waits {
    /// The commit that this comes from.
    commit: u64,
    lease_until: Option<Timestamp>,
    timeout_at: Option<Timestamp>,
    delayed: Option<Delayed>,
}

#[derive(Debug)]
struct Delayed {
    until: Timestamp,
    kind: TaskKind,
    queue: String,
    name: String,
}

impl Claims {
    /// Nothing is known yet.
    pub(super) fn new(shared: bool) -> Self {
        Self { shared, ..Self::default() }
    }

    /// Restores the schedule after a start; returns the engine tasks that must run again.
    pub(super) fn recover(&mut self, tasks: Vec<WaitingTask>, now: Timestamp) -> Vec<TaskId> {
        let mut redispatch = Vec::new();
        for task in tasks {
            match task.state {
                TaskState::Leased => self.lease(task.id, task.lease_until, task.timeout_at),
                TaskState::Ready if task.available_at <= now => {
                    if task.kind == TaskKind::Engine {
                        redispatch.push(task.id);
                    }
                }
                // The type is not stored in this index; an empty name matches claims of any type.
                TaskState::Ready => self.delay(task.id, task.available_at, task.kind, task.queue),
                TaskState::Held | TaskState::Done => {}
            }
        }
        redispatch
    }

    /// A commit changed a task. The answers of two commits may arrive in the wrong order: an older
    /// one is ignored, because it must not overwrite what a newer commit wrote.
    pub(super) fn changed(&mut self, task: &TaskRow, now: Timestamp) {
        if self.waits.get(&task.id).is_some_and(|known| known.commit > self.commit) {
            return;
        }
        self.over(task.id);
        match task.state {
            TaskState::Leased => {
                let lease = task.lease.as_ref();
                self.lease(task.id, lease.map(|it| it.until), lease.and_then(|it| it.timeout_at));
            }
            TaskState::Ready if task.available_at > now => {
                let (kind, queue) = (task.spec.kind, task.spec.queue.clone());
                self.delay(task.id, task.available_at, kind, queue);
                let waits = self.waits.get_mut(&task.id);
                if let Some(delayed) = waits.and_then(|waits| waits.delayed.as_mut()) {
                    delayed.name.clone_from(&task.spec.name);
                }
            }
            TaskState::Ready => match task.spec.kind {
                TaskKind::Worker => self.offer_first(&task.spec.queue, Some(&task.spec.name)),
                TaskKind::Engine => self.redispatch.push(task.id),
                TaskKind::User => {}
            },
            TaskState::Held | TaskState::Done => {}
        }
    }

    /// A task has ended or changes: removes it from the schedule.
    pub(super) fn over(&mut self, task: TaskId) {
        let Some(waits) = self.waits.remove(&task) else { return };
        self.leases.retain_not(waits.lease_until, task);
        self.timeouts.retain_not(waits.timeout_at, task);
        self.delays.retain_not(waits.delayed.map(|it| it.until), task);
    }

    /// A claim found nothing: it waits, unless an offer came after the store was asked, which its
    /// query may have missed.
    pub(super) fn park(&mut self, ticket: Ticket, mut claim: ParkedClaim) {
        claim.offer = None;
        let missed = usize::try_from(self.offered - claim.seen.get()).unwrap_or(usize::MAX);
        let suits = |(queue, name): &(String, Option<String>)| {
            name.as_ref().is_none_or(|name| claim.suits(queue, name))
        };
        if missed > self.offers.len() || self.offers.iter().rev().take(missed).any(suits) {
            self.woken.push((ticket, claim));
        } else {
            self.parked.push_back((ticket, claim));
        }
    }

    /// The offers since the last call for which no claim of this node waited; other nodes are told.
    pub(super) fn take_unwanted(&mut self) -> BTreeSet<(String, Option<String>)> {
        std::mem::take(&mut self.unwanted)
    }

    /// Every waiting claim asks the store again.
    pub(super) fn wake_all(&mut self) {
        self.woken.extend(self.parked.drain(..));
    }

    /// The number of waiting claims and of leases.
    pub(super) fn levels(&self) -> (usize, usize) {
        (self.parked.len(), self.leases.len())
    }

    /// How many offers there were so far.
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    /// A caller stops waiting; returns whether it was a waiting claim. If that claim was already
    /// woken, its task is offered to the next one.
    pub(super) fn forget(&mut self, ticket: Ticket) -> bool {
        let before = self.parked.len();
        self.parked.retain(|(parked, _)| *parked != ticket);
        let index = self.woken.iter().position(|(woken, _)| *woken == ticket);
        let woken = index.map(|index| self.woken.remove(index).1);
        let found = woken.is_some() || before != self.parked.len();
        if let Some(claim) = woken {
            self.pass_on(claim);
        }
        found
    }

    /// A claim takes no task: the task that woke it is offered to the next claim.
    pub(super) fn pass_on(&mut self, claim: ParkedClaim) {
        if let Some((queue, name)) = claim.offer {
            self.offer_first(&queue, name.as_deref());
        }
    }

    /// A task that a batch was to lease can be claimed again.
    pub(super) fn give_back(&mut self, task: &TaskRow) {
        self.busy.remove(&task.id);
        self.offer_first(&task.spec.queue, Some(&task.spec.name));
    }

    /// Expired leases and attempts, each as an item for its instance. Leases are in real time;
    /// attempt timeouts and retry delays are in engine time.
    pub(super) fn take_due(&mut self, now: Now) -> Vec<(TaskId, MailboxItem)> {
        let mut due = Vec::new();
        while let Some((_, task)) = pop_due(&mut self.timeouts, now.engine) {
            self.over(task);
            due.push((task, MailboxItem::AttemptTimedOut(task)));
        }
        while let Some((_, task)) = pop_due(&mut self.leases, now.real) {
            self.over(task);
            due.push((task, MailboxItem::LeaseExpired(task)));
        }
        while let Some((_, task)) = pop_due(&mut self.delays, now.engine) {
            let delayed = self.waits.remove(&task).and_then(|waits| waits.delayed);
            match delayed {
                Some(Delayed { kind: TaskKind::Engine, .. }) => self.redispatch.push(task),
                Some(Delayed { queue, name, .. }) => {
                    let name = Some(name.as_str()).filter(|name| !name.is_empty());
                    self.offer_first(&queue, name);
                }
                None => {}
            }
        }
        due
    }

    /// Engine tasks that are to run.
    pub(super) fn take_redispatch(&mut self) -> Vec<TaskId> {
        std::mem::take(&mut self.redispatch)
    }

    /// Claims that may find a task now.
    pub(super) fn take_woken(&mut self) -> Vec<(Ticket, ParkedClaim)> {
        std::mem::take(&mut self.woken)
    }

    /// All waiting claims, when no task can be searched.
    pub(super) fn drain_waiting(&mut self) -> Vec<Ticket> {
        let waiting = self.parked.drain(..).chain(self.woken.drain(..));
        waiting.map(|(ticket, _)| ticket).collect()
    }

    /// Claims whose waiting time has passed.
    pub(super) fn take_given_up(&mut self, now: Now) -> Vec<Ticket> {
        let mut given_up = Vec::new();
        self.parked.retain(|(ticket, claim)| {
            let waits = claim.until > now.real;
            if !waits {
                given_up.push(*ticket);
            }
            waits
        });
        given_up
    }

    /// The next wake-up times, in engine time and in real time.
    pub(super) fn next_wakeup(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let first = |set: &BTreeSet<(Timestamp, TaskId)>| set.first().map(|(at, _)| *at);
        let engine = [first(&self.timeouts), first(&self.delays)].into_iter().flatten().min();
        let parked = self.parked.iter().map(|(_, claim)| claim.until).min();
        let real = [first(&self.leases), parked].into_iter().flatten().min();
        (engine, real)
    }

    fn lease(&mut self, task: TaskId, until: Option<Timestamp>, timeout: Option<Timestamp>) {
        self.leases.extend(until.map(|at| (at, task)));
        self.timeouts.extend(timeout.map(|at| (at, task)));
        let (commit, delayed) = (self.commit, None);
        let waits = Waits { commit, lease_until: until, timeout_at: timeout, delayed };
        self.waits.insert(task, waits);
    }

    fn delay(&mut self, task: TaskId, until: Timestamp, kind: TaskKind, queue: String) {
        self.delays.insert((until, task));
        let delayed = Some(Delayed { until, kind, queue, name: String::new() });
        let (commit, lease_until, timeout_at) = (self.commit, None, None);
        self.waits.insert(task, Waits { commit, lease_until, timeout_at, delayed });
    }

    /// Offers a ready task to this node's workers first; if none waits, it is recorded for other
    /// nodes.
    fn offer_first(&mut self, queue: &str, name: Option<&str>) {
        let waiting = self.parked.len();
        self.offer(queue, name);
        if self.shared && self.parked.len() == waiting {
            self.unwanted.insert((queue.to_owned(), name.map(str::to_owned)));
        }
    }

    /// Wakes the first waiting claim that matches a ready task; without a type, all waiting claims.
    pub(super) fn offer(&mut self, queue: &str, name: Option<&str>) {
        self.offered += 1;
        self.offers.push_back((queue.to_owned(), name.map(str::to_owned)));
        if self.offers.len() > REMEMBERED_OFFERS {
            self.offers.pop_front();
        }
        let mut index = 0;
        while let Some((_, claim)) = self.parked.get(index) {
            let suits = match name {
                Some(name) => claim.suits(queue, name),
                None => true,
            };
            if suits {
                let offer = Some((queue.to_owned(), name.map(str::to_owned)));
                let woken = self.parked.remove(index);
                let woken = woken.map(|(ticket, claim)| (ticket, ParkedClaim { offer, ..claim }));
                self.woken.extend(woken);
                if name.is_some() {
                    return;
                }
            } else {
                index += 1;
            }
        }
    }
}

fn pop_due(set: &mut BTreeSet<(Timestamp, TaskId)>, now: Timestamp) -> Option<(Timestamp, TaskId)> {
    set.first().filter(|(at, _)| *at <= now)?;
    set.pop_first()
}

/// Removes an entry if it exists.
trait RetainNot {
    fn retain_not(&mut self, at: Option<Timestamp>, task: TaskId);
}

impl RetainNot for BTreeSet<(Timestamp, TaskId)> {
    fn retain_not(&mut self, at: Option<Timestamp>, task: TaskId) {
        if let Some(at) = at {
            self.remove(&(at, task));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(claims: &mut Claims, number: u64, queue: &str) -> Ticket {
        let command = ClaimCommand {
            queues: vec![queue.to_owned()],
            types: vec!["mail".to_owned()],
            wait_ms: 1_000,
            ..ClaimCommand::default()
        };
        let ticket = Ticket(number);
        claims.park(ticket, ParkedClaim::new(command, Timestamp::default(), &Limits::default()));
        ticket
    }

    fn woken(claims: &mut Claims) -> Vec<Ticket> {
        claims.take_woken().into_iter().map(|(ticket, _)| ticket).collect()
    }

    /// Repairs II, item 24: a worker that hangs up between the offer and the claim.
    #[test]
    fn the_task_of_a_woken_claim_that_is_dropped_is_offered_to_the_next() {
        let mut claims = Claims::new(false);
        let first = waiting(&mut claims, 1, "q");
        let other = waiting(&mut claims, 2, "other");
        let second = waiting(&mut claims, 3, "q");
        claims.offer_first("q", Some("mail"));
        assert!(claims.forget(first));
        assert_eq!(woken(&mut claims), [second]);
        assert!(claims.forget(other), "it still waits");
        assert_eq!(woken(&mut claims), []);
    }

    #[test]
    fn a_claim_that_waits_and_is_dropped_wakes_nobody() {
        let mut claims = Claims::new(false);
        let first = waiting(&mut claims, 1, "q");
        let second = waiting(&mut claims, 2, "q");
        assert!(claims.forget(first));
        assert_eq!(woken(&mut claims), []);
        assert!(claims.forget(second));
        assert!(!claims.forget(second), "it is gone");
    }

    /// Where several nodes share a store, the workers of the others are told.
    #[test]
    fn a_dropped_claim_without_a_successor_tells_the_other_nodes() {
        let mut claims = Claims::new(true);
        let first = waiting(&mut claims, 1, "q");
        claims.offer_first("q", Some("mail"));
        assert!(claims.take_unwanted().is_empty());
        claims.forget(first);
        let told: Vec<_> = claims.take_unwanted().into_iter().collect();
        assert_eq!(told, [("q".to_owned(), Some("mail".to_owned()))]);
    }

    /// A claim whose batch failed passes its task on, and so does a commit that took no effect.
    #[test]
    fn what_a_failed_batch_was_to_hand_out_is_offered_again() {
        let mut claims = Claims::new(false);
        let first = waiting(&mut claims, 1, "q");
        let second = waiting(&mut claims, 2, "q");
        claims.offer_first("q", Some("mail"));
        let (ticket, claim) = claims.take_woken().remove(0);
        assert_eq!(ticket, first);
        claims.pass_on(claim);
        assert_eq!(woken(&mut claims), [second]);
    }
}
