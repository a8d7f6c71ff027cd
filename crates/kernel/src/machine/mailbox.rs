//! Work for instances that waits in memory until a turn takes it.
//!
//! Only [`Mailboxes`] changes the pending items, so the counts of items and bytes, by which
//! commands are rejected, are right by construction.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use meantime_core::{DefinitionId, Event, InstanceId, Json, TaskId, TimerId, Timestamp};

use super::io::Ticket;
use super::ready::{Class, PickRules, Picked, ReadySet};
use crate::command::{LeaseToken, Reply, Report, StartCommand, Suspending, TimerEdit, Wait};
use crate::history::AuditInfo;
use crate::open::Key;
use crate::store::{IncidentRow, InstanceRow, TimerKey};

/// The most children for whose first turns the answer to a start waits.
const SPAWNED_AWAITED: usize = 64;

/// An instance with work to do or with waiting callers.
#[derive(Debug)]
pub(super) struct Mailbox {
    /// Items that are not in the store yet.
    pending: VecDeque<PendingItem>,
    /// Whether the store may have events for it.
    pub(super) durable: bool,
    /// Whether it continues without an event: its first turn, or after yielding.
    pub(super) goes_on: bool,
    /// Whether it is in a batch.
    pub(super) in_flight: bool,
    /// Its definition is being loaded.
    pub(super) waits_for_definition: bool,
    /// Another node has locked it; no turn is tried before this time.
    pub(super) locked_until: Option<Timestamp>,
    /// How many times in a row another node had locked it.
    pub(super) misses: u32,
    /// The number of turns that take only one event, after a turn with several failed.
    pub(super) solo: usize,
    /// Callers whose command was committed and who wait for the instance to become idle or end.
    pub(super) waiters: Vec<Waiter>,
    /// Its definition, for fair shares; zero while unknown.
    pub(super) definition: DefinitionId,
    /// What the instance waited for after its last turn.
    pub(super) wait_state: WaitState,
    /// Its row, while the caller of its start waits.
    pub(super) shown: Option<Box<InstanceRow>>,
    /// Children that it started while the caller of its start waits; the answer waits for their
    /// first turns as well.
    pub(super) spawned: Vec<InstanceId>,
    /// The definition of its parent, while it waits for its first turn.
    parent: Option<DefinitionId>,
}

/// What an instance waits for, as far as waiting callers need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum WaitState {
    /// It waits only for time, signals, messages, steps or people.
    #[default]
    Idle,
    /// It has ended.
    Over,
    /// It waits for a worker or the engine.
    Busy,
    /// It waits for children, which may be waiting themselves.
    Parent,
}

impl WaitState {
    pub(super) fn of(row: &InstanceRow) -> Self {
        if row.phase.is_ended() {
            Self::Over
        } else if row.open.is_idle() || row.meta.suspended.is_some() {
            // A suspended instance waits for a person, whatever its children do.
            Self::Idle
        } else if row.open.children > 0 {
            Self::Parent
        } else {
            Self::Busy
        }
    }

    /// Whether a caller who waits in this way can be answered.
    pub(super) fn satisfies(self, wait: Wait) -> bool {
        match wait {
            Wait::Quiet => true,
            Wait::Idle => matches!(self, Self::Idle | Self::Over),
            Wait::Ended => self == Self::Over,
        }
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            durable: false,
            goes_on: false,
            in_flight: false,
            waits_for_definition: false,
            locked_until: None,
            misses: 0,
            solo: 0,
            waiters: Vec::new(),
            definition: DefinitionId(0),
            wait_state: WaitState::Idle,
            shown: None,
            spawned: Vec::new(),
            parent: None,
        }
    }
}

impl Mailbox {
    /// Whether a turn has something to do.
    pub(super) fn has_work(&self) -> bool {
        !self.pending.is_empty() || self.durable || self.goes_on
    }

    /// Keeps the row for the answer to the start.
    pub(super) fn show(&mut self, row: &InstanceRow, starts: bool) {
        if starts || self.shown.is_some() {
            self.shown = Some(Box::new(row.clone()));
        }
    }

    /// Records children, for whose first turns the answer to the start waits.
    pub(super) fn spawn(&mut self, children: &[InstanceId], starts: bool) {
        let is_start = |waiter: &Waiter| matches!(waiter.reply, Some(Reply::Started { .. }));
        if starts || self.waiters.iter().any(is_start) {
            let room = SPAWNED_AWAITED.saturating_sub(self.spawned.len());
            self.spawned.extend(children.iter().take(room));
        }
    }

    /// Whether there are pending items.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether a caller waits for the instance, or for one of its pending items.
    pub(super) fn has_callers(&self) -> bool {
        !self.waiters.is_empty() || self.pending.iter().any(|it| it.ticket.is_some())
    }

    /// How urgent events for the instance are: a caller may wait for it.
    pub(super) fn class_of_events(&self) -> Class {
        let is_only_delivered = self.pending.is_empty() && self.waiters.is_empty();
        if is_only_delivered { Class::Deliveries } else { Class::Events }
    }

    /// Whether nothing needs the mailbox.
    pub(super) fn is_idle(&self) -> bool {
        !self.has_work() && !self.in_flight && self.waiters.is_empty()
    }
}

/// The mailboxes of all instances with work or waiting callers, and the order in which they get
/// turns.
#[derive(Debug, Default)]
pub(super) struct Mailboxes {
    by_instance: BTreeMap<InstanceId, Mailbox>,
    ready: ReadySet,
    /// The total number of pending items, and their bytes.
    queued: usize,
    queued_bytes: usize,
    /// The children that wait for their first turn, by the definition of their parents.
    children: BTreeMap<DefinitionId, usize>,
}

impl Mailboxes {
    pub(super) fn get(&self, id: InstanceId) -> Option<&Mailbox> {
        self.by_instance.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: InstanceId) -> Option<&mut Mailbox> {
        self.by_instance.get_mut(&id)
    }

    /// The mailbox of an instance in a batch or with a slow turn. It stays until that is over.
    pub(super) fn of_batch(&mut self, id: InstanceId) -> &mut Mailbox {
        self.get_mut(id).expect("an instance in a batch has a mailbox")
    }

    /// The mailbox of an instance, a new one if it has none.
    pub(super) fn open(&mut self, id: InstanceId) -> &mut Mailbox {
        self.by_instance.entry(id).or_default()
    }

    /// Drops a mailbox that nothing needs.
    pub(super) fn drop_idle(&mut self, id: InstanceId) {
        if self.get(id).is_some_and(Mailbox::is_idle) {
            self.by_instance.remove(&id);
        }
    }

    /// The instances whose mailboxes satisfy the condition.
    pub(super) fn find(&self, holds: impl Fn(&Mailbox) -> bool) -> Vec<InstanceId> {
        let found = self.by_instance.iter().filter(|(_, mailbox)| holds(mailbox));
        found.map(|(id, _)| *id).collect()
    }

    /// How many items are pending, and their bytes.
    pub(super) fn queued(&self) -> (usize, usize) {
        (self.queued, self.queued_bytes)
    }

    /// Adds an item after all pending items of an instance.
    pub(super) fn push(&mut self, id: InstanceId, pending: PendingItem) {
        self.count_in(&pending);
        self.open(id).pending.push_back(pending);
    }

    /// Adds an item before all pending items of an instance.
    pub(super) fn push_first(&mut self, id: InstanceId, pending: PendingItem) {
        self.count_in(&pending);
        self.open(id).pending.push_front(pending);
    }

    /// Takes the first items of an instance.
    pub(super) fn take(&mut self, id: InstanceId, limit: usize) -> Vec<PendingItem> {
        let Some(mailbox) = self.by_instance.get_mut(&id) else { return Vec::new() };
        let count = mailbox.pending.len().min(limit);
        let items: Vec<_> = mailbox.pending.drain(..count).collect();
        for item in &items {
            self.count_out(item);
        }
        items
    }

    /// Takes all items of an instance that callers wait for.
    pub(super) fn take_of_callers(&mut self, id: InstanceId) -> Vec<PendingItem> {
        let Some(mailbox) = self.by_instance.get_mut(&id) else { return Vec::new() };
        let is_callers = |it: &PendingItem| it.ticket.is_some();
        let (callers, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut mailbox.pending).into_iter().partition(is_callers);
        mailbox.pending = kept.into();
        for item in &callers {
            self.count_out(item);
        }
        callers
    }

    /// Removes the pending item of a caller that only waits; returns its instance.
    pub(super) fn take_await(&mut self, ticket: Ticket) -> Option<InstanceId> {
        let is_its =
            |it: &PendingItem| it.ticket == Some(ticket) && matches!(it.item, MailboxItem::Await);
        let (id, item) = self.by_instance.iter_mut().find_map(|(id, mailbox)| {
            let index = mailbox.pending.iter().position(is_its)?;
            mailbox.pending.remove(index).map(|item| (*id, item))
        })?;
        self.count_out(&item);
        Some(id)
    }

    /// Removes a caller that waits for an instance to become idle or end.
    pub(super) fn take_waiter(&mut self, ticket: Ticket) -> Option<(InstanceId, Waiter)> {
        self.by_instance.iter_mut().find_map(|(id, mailbox)| {
            let index = mailbox.waiters.iter().position(|waiter| waiter.ticket == ticket)?;
            Some((*id, mailbox.waiters.remove(index)))
        })
    }

    /// The item that a caller waits for.
    pub(super) fn pending_of(&mut self, ticket: Ticket) -> Option<&mut PendingItem> {
        let pending = self.by_instance.values_mut().flat_map(|mailbox| &mut mailbox.pending);
        pending.into_iter().find(|pending| pending.ticket == Some(ticket))
    }

    /// Whether an item that this caller waits for is pending.
    pub(super) fn has_pending(&self, ticket: Ticket) -> bool {
        let mut pending = self.by_instance.values().flat_map(|mailbox| &mailbox.pending);
        pending.any(|pending| pending.ticket == Some(ticket))
    }

    /// Makes an instance ready, unless it is in a batch, locked or waiting for its definition.
    pub(super) fn wake(&mut self, id: InstanceId, class: Class) {
        // A mailbox is removed when nothing waits in it: then there is nothing to do either.
        let Some(mailbox) = self.by_instance.get(&id) else { return };
        let waits = mailbox.waits_for_definition || mailbox.locked_until.is_some();
        if !mailbox.in_flight && !waits && mailbox.has_work() {
            self.ready.insert(id, mailbox.definition, class);
        }
    }

    /// Makes an instance ready that a commit has accepted; it may be a child.
    pub(super) fn accept(
        &mut self,
        id: InstanceId,
        definition: DefinitionId,
        parent: Option<DefinitionId>,
    ) {
        let mailbox = self.open(id);
        (mailbox.goes_on, mailbox.definition) = (true, definition);
        let before = std::mem::replace(&mut mailbox.parent, parent);
        self.forget_child_of(before);
        if let Some(parent) = parent {
            *self.children.entry(parent).or_default() += 1;
        }
        self.wake(id, Class::Spawned);
    }

    /// How many children of instances of a definition wait for their first turn.
    pub(super) fn children_of(&self, definition: DefinitionId) -> usize {
        self.children.get(&definition).copied().unwrap_or_default()
    }

    /// Whether no instance is ready for a turn.
    pub(super) fn none_ready(&self) -> bool {
        self.ready.is_empty()
    }

    /// How many of a definition are ready in a class, about.
    pub(super) fn ready_of(&self, class: Class, definition: DefinitionId) -> usize {
        self.ready.len_of(class, definition)
    }

    /// Takes instances for a batch ([`ReadySet::pick`]).
    pub(super) fn pick(&mut self, rules: &PickRules<'_>) -> Picked {
        let picked = self.ready.pick(rules);
        for (id, _) in &picked.instances {
            let parent = self.get_mut(*id).and_then(|mailbox| mailbox.parent.take());
            self.forget_child_of(parent);
        }
        picked
    }

    /// A child waits for its first turn no longer.
    fn forget_child_of(&mut self, parent: Option<DefinitionId>) {
        let Some(Entry::Occupied(mut entry)) = parent.map(|it| self.children.entry(it)) else {
            return;
        };
        *entry.get_mut() -= 1;
        if *entry.get() == 0 {
            entry.remove();
        }
    }

    fn count_in(&mut self, item: &PendingItem) {
        self.queued += 1;
        self.queued_bytes += item.bytes;
    }

    fn count_out(&mut self, item: &PendingItem) {
        assert!(self.queued > 0 && self.queued_bytes >= item.bytes, "it was counted in");
        self.queued -= 1;
        self.queued_bytes -= item.bytes;
    }
}

/// A caller that waits for an instance to become idle or end.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) ticket: Ticket,
    pub(super) wait: Wait,
    /// A timer that must have fired first.
    pub(super) after: Option<Key>,
    /// The answer; none if several instances are waited for (`Waiters` holds the answer).
    pub(super) reply: Option<Reply>,
}

/// An item for an instance that is not in the store yet.
#[derive(Debug, Clone)]
pub(super) struct PendingItem {
    pub(super) item: MailboxItem,
    pub(super) ticket: Option<Ticket>,
    pub(super) wait: Wait,
    pub(super) at: Timestamp,
    pub(super) bytes: usize,
}

impl PendingItem {
    /// An item without a caller.
    pub(super) fn internal(item: MailboxItem, at: Timestamp) -> Self {
        Self { item, ticket: None, wait: Wait::Quiet, at, bytes: 0 }
    }
}

/// The kinds of items.
#[derive(Debug, Clone)]
pub(super) enum MailboxItem {
    /// The start of a new instance.
    Start(Box<StartCommand>, DefinitionId),
    /// A caller waits for the instance.
    Await,
    /// An event; with its audit information if an operator caused it.
    Event(Event, Option<AuditInfo>),
    /// A signal.
    Signal { name: String, payload: Json },
    /// A report about a task.
    Report { task: TaskId, token: Option<LeaseToken>, report: Report },
    /// A lease expired.
    LeaseExpired(TaskId),
    /// An attempt took too long.
    AttemptTimedOut(TaskId),
    /// A due timer, with its key in the queue.
    Timer(TimerKey),
    /// An operator reports on a task.
    OperatorReport { task: TaskId, report: Report, audit: AuditInfo },
    /// An operator suspends or resumes the instance.
    Suspending(Suspending, AuditInfo),
    /// An operator's edit of a timer.
    Edit { timer: TimerId, edit: TimerEdit, audit: AuditInfo },
    /// An operator retries or resolves an incident.
    Incident { row: Box<IncidentRow>, variables: Option<Json>, audit: AuditInfo },
}

impl MailboxItem {
    /// The task whose row the item needs.
    pub(super) fn task(&self) -> Option<TaskId> {
        match self {
            Self::Report { task, .. }
            | Self::OperatorReport { task, .. }
            | Self::LeaseExpired(task)
            | Self::AttemptTimedOut(task) => Some(*task),
            Self::Incident { row, .. } => match row.cause {
                crate::store::IncidentCause::Task(key) => Some(TaskId(key)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl MailboxItem {
    /// The incident that an operator retries or resolves.
    pub(super) fn incident(&self) -> Option<meantime_core::IncidentId> {
        match self {
            Self::Incident { row, .. } => Some(row.id),
            _ => None,
        }
    }
}

/// The instance of a timer.
pub(super) fn owner(timer: TimerId) -> InstanceId {
    timer.0.instance
}

#[cfg(test)]
mod tests {
    use super::super::test_id::id;
    use super::*;

    fn item(ticket: Option<u64>, bytes: usize) -> PendingItem {
        let at = Timestamp::default();
        let ticket = ticket.map(Ticket);
        PendingItem { item: MailboxItem::Await, ticket, wait: Wait::Quiet, at, bytes }
    }

    #[test]
    fn children_are_counted_by_their_parents_until_their_first_turn() {
        let mut mailboxes = Mailboxes::default();
        let (parent, child) = (DefinitionId(1), DefinitionId(2));
        for number in 1..=3 {
            mailboxes.accept(id(number), child, Some(parent));
        }
        mailboxes.accept(id(4), child, None);
        // An answer that is handled twice counts once.
        mailboxes.accept(id(3), child, Some(parent));
        assert_eq!((mailboxes.children_of(parent), mailboxes.children_of(child)), (3, 0));
        let rules = PickRules {
            now: Timestamp::default(),
            limit: 2,
            effects: 512,
            late: None,
            waits: &|_| false,
            background: Some(12),
            weight: &|_, _| 1,
        };
        let picked = mailboxes.pick(&rules).instances.len();
        assert_eq!((picked, mailboxes.children_of(parent)), (2, 1));
        mailboxes.pick(&rules);
        assert_eq!(mailboxes.children_of(parent), 0);
        assert!(mailboxes.children.is_empty(), "no definition is kept for nothing");
    }

    #[test]
    fn what_waits_is_counted_however_it_leaves() {
        let mut mailboxes = Mailboxes::default();
        mailboxes.push(id(1), item(None, 10));
        mailboxes.push(id(1), item(Some(1), 20));
        mailboxes.push_first(id(2), item(Some(2), 40));
        mailboxes.push(id(2), item(Some(3), 80));
        assert_eq!(mailboxes.queued(), (4, 150));
        assert_eq!(mailboxes.take_await(Ticket(2)), Some(id(2)));
        assert_eq!(mailboxes.queued(), (3, 110), "a caller gave up waiting");
        assert_eq!(mailboxes.take_of_callers(id(1)).len(), 1);
        assert_eq!(mailboxes.queued(), (2, 90));
        assert_eq!(mailboxes.take(id(2), 5).len(), 1);
        assert_eq!(mailboxes.take(id(1), 5).len(), 1);
        assert_eq!(mailboxes.queued(), (0, 0));
        mailboxes.drop_idle(id(1));
        assert!(mailboxes.get(id(1)).is_none());
    }

    #[test]
    fn an_instance_in_a_batch_is_not_ready() {
        let mut mailboxes = Mailboxes::default();
        mailboxes.push(id(1), item(None, 1));
        mailboxes.open(id(1)).in_flight = true;
        mailboxes.wake(id(1), Class::Events);
        assert!(mailboxes.none_ready());
        mailboxes.open(id(1)).in_flight = false;
        mailboxes.wake(id(1), Class::Events);
        assert_eq!(mailboxes.ready_of(Class::Events, DefinitionId(0)), 1);
    }
}
