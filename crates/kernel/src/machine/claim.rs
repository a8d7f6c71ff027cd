//! Tasks for workers: waiting claims, leases that may expire, retries that are not due yet.
//!
//! The stored rows decide; this is only a schedule of when to look at them again, so that nothing
//! polls (I12). A waiting claim needs no thread and no query: a commit that makes a task ready
//! wakes the first claim that matches it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use meantime_core::{Failure, Limits, TaskCause, TaskId, TaskKind, TaskOutcome, Timestamp};

use super::io::Ticket;
use super::mailbox::MailboxItem;
use super::report::done;
use crate::clock::Now;
use crate::command::ClaimCommand;
use crate::store::{ClaimQuery, LeaseRow, TaskRow, TaskState, WaitingTask};

/// A lease that was handed out this shortly before a crash may not have reached its worker, in
/// engine time.
const MAYBE_UNDELIVERED_MS: i64 = 1_000;

/// How long its worker has to report or to extend the lease after the restart before the task is
/// offered to others too, in real time.
const UNDELIVERED_GRACE_MS: i64 = 5_000;

/// The most offers remembered for claims that are about to wait.
const REMEMBERED_OFFERS: usize = 1_024;

/// The most filters of claims for which it is remembered that nothing is ready.
const REMEMBERED_FILTERS: usize = 256;

/// The types and queues that a claim takes tasks from.
type Filter = (Vec<String>, Vec<String>);

/// A claim, possibly waiting for a task.
#[derive(Debug, Clone)]
pub(super) struct ParkedClaim {
    command: ClaimCommand,
    /// The real time at which the worker stops waiting.
    until: Timestamp,
    /// The number of offers when the store was asked.
    seen: Cell<u64>,
    /// All tasks found by the query were taken by others or past their deadline: there may be more
    /// after them.
    was_crowded_out: Cell<bool>,
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

    /// How many tasks it takes at most.
    pub(super) fn max(&self) -> usize {
        self.command.max
    }

    fn filter(&self) -> Filter {
        (self.command.types.clone(), self.command.queues.clone())
    }

    /// Makes the claim miss no offer that comes from now on.
    fn has_seen(&self, offered: u64) {
        self.seen.set(offered);
    }

    /// If it gets no task, it asks the store once more: there may be some behind those that it
    /// found.
    pub(super) fn ask_again(&self) {
        self.was_crowded_out.set(true);
    }

    /// Whether it asks the store once more; that is forgotten by this call.
    pub(super) fn takes_another_look(&self) -> bool {
        self.was_crowded_out.take()
    }

    /// Whether the worker waits for a task that is not ready yet.
    pub(super) fn waits(&self, now: Now) -> bool {
        self.until > now.real
    }

    /// The worker takes what there is now, and waits no longer.
    pub(super) fn stop_waiting(&mut self) {
        self.until = Timestamp::MIN;
    }

    /// The row of a task after this claim, and its number of claims before, which is the fence.
    pub(super) fn lease(&self, task: &TaskRow, now: Now) -> (Box<TaskRow>, u32) {
        let mut row = Box::new(task.clone());
        let after = |from: Timestamp, ms: u64| {
            from.saturating_add_millis(i64::try_from(ms).unwrap_or(i64::MAX))
        };
        row.state = TaskState::Leased;
        row.available_at = now.engine;
        row.claims += 1;
        // An expired lease stays in the row: the next claim continues the same attempt (P2) instead
        // of counting a new one.
        row.attempt += u32::from(task.lease.is_none());
        row.lease = Some(LeaseRow {
            worker: self.command.worker.clone(),
            until: after(now.real, self.command.lease_ms),
            timeout_at: row.spec.timeout_ms.map(|ms| after(now.engine, ms)),
        });
        (row, task.claims)
    }

    /// Whether it takes tasks of a type from a queue.
    pub(super) fn suits(&self, queue: &str, name: &str) -> bool {
        let ClaimCommand { types, queues, .. } = &self.command;
        (types.is_empty() || types.iter().any(|it| it == name))
            && (queues.iter().any(|it| it == queue) || (queues.is_empty() && queue.is_empty()))
    }
}

/// What a claim takes of the tasks that the store found for it: rows as they will be written, each
/// with its number of claims before, which is the fence.
#[derive(Debug, Default)]
pub(super) struct ClaimSelection {
    pub(super) leased: Vec<(Box<TaskRow>, u32)>,
    /// Detached tasks whose deadline has passed. Their instance has ended and cannot end them, so
    /// the claim that finds them does.
    pub(super) too_late: Vec<(Box<TaskRow>, u32)>,
}

/// The schedule of tasks, and the waiting claims.
#[derive(Debug, Default)]
pub(super) struct Claims {
    parked: VecDeque<(Ticket, ParkedClaim)>,
    woken: Vec<(Ticket, ParkedClaim)>,
    redispatch: Vec<TaskId>,
    /// Tasks to offer again, because nothing was heard of the workers to which they were handed out
    /// right before a crash; each with the end of that lease.
    unheard: BTreeMap<TaskId, Timestamp>,
    waits: BTreeMap<TaskId, Waits>,
    leases: BTreeSet<(Timestamp, TaskId)>,
    timeouts: BTreeSet<(Timestamp, TaskId)>,
    delays: BTreeSet<(Timestamp, TaskId)>,
    /// The latest offers, so that a claim that is about to wait finds those it missed.
    offers: VecDeque<(String, Option<String>)>,
    offered: u64,
    /// Filters of claims for which nothing is ready but what was offered after so many offers. Only
    /// while no other node creates tasks.
    dry: BTreeMap<Filter, u64>,
    /// Whether other nodes have workers too.
    shared: bool,
    /// Offers for which no claim of this node waited.
    unwanted: BTreeSet<(String, Option<String>)>,
    /// Tasks that a batch in flight leases.
    busy: BTreeSet<TaskId>,
    /// The commit whose results are being applied.
    commit: u64,
}

/// When to look at one task again.
#[derive(Debug)]
struct Waits {
    /// The commit that this comes from.
    commit: u64,
    lease_until: Option<Timestamp>,
    timeout_at: Option<Timestamp>,
    delayed: Option<Delayed>,
    /// The lease may not have reached its worker: the stored end of it, which is later than
    /// `lease_until`.
    undelivered: Option<Timestamp>,
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

    /// Restores the schedule after a start; returns the engine tasks that must run again. After a
    /// crash, `crashed_at` is the time of the last commit: the answers to claims of that second may
    /// be lost, so those leases end soon unless the worker is heard of.
    pub(super) fn recover(
        &mut self,
        tasks: Vec<WaitingTask>,
        crashed_at: Option<Timestamp>,
        now: Now,
    ) -> Vec<TaskId> {
        let lost_after = crashed_at.map(|at| at.saturating_add_millis(-MAYBE_UNDELIVERED_MS));
        let soon = now.real.saturating_add_millis(UNDELIVERED_GRACE_MS);
        let mut redispatch = Vec::new();
        for task in tasks {
            match task.state {
                TaskState::Leased => {
                    let is_new = lost_after.is_some_and(|at| task.available_at >= at);
                    let undelivered = task.lease_until.filter(|until| is_new && *until > soon);
                    let until = undelivered.map_or(task.lease_until, |_| Some(soon));
                    self.lease(task.id, until, task.timeout_at);
                    if let Some(waits) = self.waits.get_mut(&task.id) {
                        waits.undelivered = undelivered;
                    }
                }
                TaskState::Ready if task.available_at <= now.engine => {
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
        // Tasks without a lease, timeout and delay are not in the schedule.
        let Some(waits) = self.waits.remove(&task) else { return };
        self.leases.retain_not(waits.lease_until, task);
        self.timeouts.retain_not(waits.timeout_at, task);
        self.delays.retain_not(waits.delayed.map(|it| it.until), task);
    }

    /// A claim found nothing: it waits, unless an offer came after the store was asked, which its
    /// query may have missed.
    pub(super) fn park(&mut self, ticket: Ticket, mut claim: ParkedClaim) {
        claim.offer = None;
        if self.has_missed_offer(&claim) {
            self.woken.push((ticket, claim));
        } else {
            self.parked.push_back((ticket, claim));
        }
    }

    /// A claim that was taken out of the queue got nothing: it waits again, before all others.
    pub(super) fn park_first(&mut self, ticket: Ticket, claim: ParkedClaim) {
        if self.has_missed_offer(&claim) {
            self.woken.push((ticket, claim));
        } else {
            self.parked.push_front((ticket, claim));
        }
    }

    /// Whether there may be a task that the query of a claim could not see.
    pub(super) fn has_missed_offer(&self, claim: &ParkedClaim) -> bool {
        let missed = usize::try_from(self.offered - claim.seen.get()).unwrap_or(usize::MAX);
        let suits = |(queue, name): &(String, Option<String>)| {
            name.as_ref().is_none_or(|name| claim.suits(queue, name))
        };
        missed > self.offers.len() || self.offers.iter().rev().take(missed).any(suits)
    }

    /// The claim that has waited longest of those that a task may be handed to. It stays in the
    /// queue.
    pub(super) fn first_parked(&self, is_it: impl Fn(&ParkedClaim) -> bool) -> Option<Ticket> {
        self.parked.iter().find(|(_, claim)| is_it(claim)).map(|(ticket, _)| *ticket)
    }

    /// Takes a waiting claim out of the queue, because a batch hands tasks to it.
    pub(super) fn take_parked(&mut self, ticket: Ticket) -> Option<ParkedClaim> {
        let index = self.parked.iter().position(|(parked, _)| *parked == ticket)?;
        let (_, claim) = self.parked.remove(index)?;
        claim.has_seen(self.offered);
        Some(claim)
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

    /// Whether it is known that no task is ready for a claim: the last query like it has found
    /// all, and nothing that suits it was offered since.
    pub(super) fn finds_nothing(&mut self, claim: &ParkedClaim) -> bool {
        let Some(known) = self.dry.get(&claim.filter()) else { return false };
        claim.seen.set(*known);
        let finds_nothing = !self.has_missed_offer(claim);
        if finds_nothing {
            claim.seen.set(self.offered);
            self.dry.insert(claim.filter(), self.offered);
        } else {
            self.dry.remove(&claim.filter());
        }
        finds_nothing
    }

    /// The query of a claim for up to so many tasks. It may miss offers that come after it.
    pub(super) fn query(&self, claim: &ParkedClaim, limit: usize) -> ClaimQuery {
        claim.seen.set(self.offered);
        let (types, queues) = (claim.command.types.clone(), claim.command.queues.clone());
        ClaimQuery { types, queues, limit, busy: self.busy.clone() }
    }

    /// Takes the tasks of a claim from those that its query found, without those that another claim
    /// of the same batch, or a batch in flight, leases. The query has either found all that were
    /// ready, or has reached its limit.
    pub(super) fn select(
        &mut self,
        claim: &ParkedClaim,
        found: &[TaskRow],
        found_all: bool,
        now: Now,
    ) -> ClaimSelection {
        let mut selection = ClaimSelection::default();
        let mut left = 0;
        for row in found.iter().filter(|row| !self.busy.contains(&row.id)) {
            // Only for detached tasks: a running instance ends its own tasks, and an operator may
            // have moved its deadline, which this row does not show.
            if row.spec.detached && row.deadline_at.is_some_and(|at| at <= now.engine) {
                selection.too_late.push((Box::new(past_deadline(row, now.engine)), row.claims));
            } else if selection.leased.len() < claim.max() {
                selection.leased.push(claim.lease(row, now));
            } else {
                left += 1;
            }
        }
        // What a batch leases without effect is offered again.
        if found_all && left == 0 && selection.too_late.is_empty() && !self.shared {
            self.note_dry(claim);
        }
        claim.was_crowded_out.set(!found.is_empty() && selection.leased.is_empty());
        self.busy.extend(selection.leased.iter().map(|(row, _)| row.id));
        selection
    }

    fn note_dry(&mut self, claim: &ParkedClaim) {
        if self.dry.len() >= REMEMBERED_FILTERS {
            self.dry.clear();
        }
        self.dry.insert(claim.filter(), claim.seen.get());
    }

    /// A task is damaged and never claimed; whether that is new.
    pub(super) fn withhold(&mut self, task: TaskId) -> bool {
        self.busy.insert(task)
    }

    /// The commit that leases a task is answered.
    pub(super) fn lease_is_answered(&mut self, task: TaskId) {
        self.busy.remove(&task);
    }

    /// The results of a commit follow.
    pub(super) fn begin_results(&mut self, commit: u64) {
        self.commit = commit;
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
            match self.waits.get(&task).and_then(|waits| waits.undelivered) {
                Some(until) => {
                    self.unheard.insert(task, until);
                }
                None => due.push((task, MailboxItem::LeaseExpired(task))),
            }
            self.over(task);
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

    /// Tasks to offer again, each with the end of the lease that may not have reached its worker.
    pub(super) fn take_unheard(&mut self) -> BTreeMap<TaskId, Timestamp> {
        std::mem::take(&mut self.unheard)
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
            let waits = claim.waits(now);
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
        let (commit, delayed, undelivered) = (self.commit, None, None);
        let waits = Waits { commit, lease_until: until, timeout_at: timeout, delayed, undelivered };
        self.waits.insert(task, waits);
    }

    fn delay(&mut self, task: TaskId, until: Timestamp, kind: TaskKind, queue: String) {
        self.delays.insert((until, task));
        let delayed = Some(Delayed { until, kind, queue, name: String::new() });
        let (commit, lease_until, timeout_at) = (self.commit, None, None);
        let waits = Waits { commit, lease_until, timeout_at, delayed, undelivered: None };
        self.waits.insert(task, waits);
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

/// The row of a detached task whose deadline passed before it was claimed.
fn past_deadline(task: &TaskRow, now: Timestamp) -> TaskRow {
    let failure = Failure::new("TASK_DEADLINE", "the deadline over all attempts has passed");
    done(task, TaskOutcome::Failed { failure, cause: TaskCause::Deadline, thrown: None }, now)
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
    use meantime_core::{DefinitionId, InstanceId, Json, TaskSpec};

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

    /// A worker that hangs up between the offer and the claim.
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

    fn ready(number: u32, detached: bool) -> TaskRow {
        let id = TaskId(InstanceId::new(1, 1).effect(1, number));
        let spec = TaskSpec { detached, ..TaskSpec::worker("mail", "send", Json::null()) };
        TaskRow::ready(id, spec, DefinitionId(1), Timestamp::default())
    }

    fn claim(max: usize) -> ParkedClaim {
        let command = ClaimCommand { max, lease_ms: 1_000, ..ClaimCommand::default() };
        ParkedClaim::new(command, Timestamp::default(), &Limits::default())
    }

    fn leased(taken: &ClaimSelection) -> Vec<TaskId> {
        taken.leased.iter().map(|(row, _)| row.id).collect()
    }

    #[test]
    fn claims_of_one_batch_share_what_their_queries_found() {
        let mut claims = Claims::new(false);
        let found: Vec<_> = (0..3).map(|number| ready(number, false)).collect();
        let (first, second, third) = (claim(2), claim(2), claim(2));
        let now = Now::default();
        assert_eq!(leased(&claims.select(&first, &found, true, now)), [found[0].id, found[1].id]);
        assert_eq!(leased(&claims.select(&second, &found, true, now)), [found[2].id]);
        assert!(claims.select(&third, &found, true, now).leased.is_empty());
        assert!(third.takes_another_look(), "there may be more behind them");
        assert!(!third.takes_another_look() && !second.takes_another_look());
        claims.lease_is_answered(found[0].id);
        assert_eq!(leased(&claims.select(&third, &found, true, now)), [found[0].id]);
    }

    #[test]
    fn a_claim_ends_detached_tasks_whose_deadline_has_passed() {
        let mut claims = Claims::new(false);
        let deadline_at = Some(Timestamp::default());
        let found = [true, false].map(|detached| TaskRow { deadline_at, ..ready(0, detached) });
        let taken = claims.select(&claim(1), &found[..1], true, Now::default());
        let (row, fence) = &taken.too_late[0];
        assert_eq!((row.state, *fence), (TaskState::Done, 0));
        assert!(taken.leased.is_empty());
        let taken = claims.select(&claim(1), &found[1..], true, Now::default());
        assert_eq!(taken.leased.len(), 1, "its instance ends it");
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::default().saturating_add_millis(ms)
    }

    fn leased_at(number: u32, claimed_at: i64, until: i64) -> WaitingTask {
        WaitingTask {
            id: ready(number, false).id,
            kind: TaskKind::Worker,
            queue: "q".to_owned(),
            state: TaskState::Leased,
            available_at: at(claimed_at),
            lease_until: Some(at(until)),
            timeout_at: None,
        }
    }

    /// The answers to claims of the last second before a crash may be lost.
    #[test]
    fn leases_of_the_last_second_before_a_crash_are_offered_again_after_five_seconds() {
        let mut claims = Claims::new(false);
        let tasks = vec![
            leased_at(0, 999, 60_000),
            leased_at(1, 1_000, 60_000),
            leased_at(2, 2_000, 4_000),
        ];
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
        let restart = Now { engine: at(3_000), real: at(3_000) };
        claims.recover(tasks, Some(at(2_000)), restart);
        assert_eq!(claims.next_wakeup().1, Some(at(4_000)), "ends by itself before that");
        let due = claims.take_due(Now { engine: at(7_999), real: at(7_999) });
        assert!(matches!(due[..], [(task, MailboxItem::LeaseExpired(_))] if task == ids[2]));
        assert!(claims.take_unheard().is_empty());
        let due = claims.take_due(Now { engine: at(8_000), real: at(8_000) });
        assert!(due.is_empty(), "it has not expired");
        assert_eq!(claims.take_unheard(), BTreeMap::from([(ids[1], at(60_000))]));
        assert_eq!(claims.next_wakeup().1, Some(at(60_000)), "an older lease stays");
    }

    #[test]
    fn leases_stay_after_a_stop_and_when_their_worker_is_heard_of() {
        let mut claims = Claims::new(false);
        let restart = Now { engine: at(2_000), real: at(2_000) };
        claims.recover(vec![leased_at(0, 2_000, 60_000)], None, restart);
        assert_eq!(claims.next_wakeup().1, Some(at(60_000)));
        claims.recover(vec![leased_at(1, 2_000, 60_000)], Some(at(2_000)), restart);
        assert_eq!(claims.next_wakeup().1, Some(at(7_000)));
        let until = at(90_000);
        let lease = LeaseRow { worker: "w".to_owned(), until, timeout_at: None };
        let extended = TaskRow { lease: Some(lease), state: TaskState::Leased, ..ready(1, false) };
        claims.changed(&extended, restart.engine);
        claims.take_due(Now { engine: at(8_000), real: at(8_000) });
        assert!(claims.take_unheard().is_empty());
    }

    #[test]
    fn a_claim_continues_the_attempt_of_an_expired_lease() {
        let lease = LeaseRow { worker: "w".to_owned(), until: Timestamp::MIN, timeout_at: None };
        let fresh = TaskRow { attempt: 1, claims: 1, ..ready(0, false) };
        let expired = TaskRow { lease: Some(lease), ..fresh.clone() };
        let attempt = |task| claim(1).lease(task, Now::default()).0.attempt;
        assert_eq!((attempt(&fresh), attempt(&expired)), (2, 1));
    }
}
