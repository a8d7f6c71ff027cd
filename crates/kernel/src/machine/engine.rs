//! The machine itself: inputs, outputs, time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use meantime_core::{Definition, DefinitionId, InstanceId, Limits, Notation, Timestamp};

use super::claim::Claims;
use super::definitions::{Definitions, Loaded, Notations, Stored};
use super::global_queue::{GlobalAction, GlobalQueue};
use super::in_flight::BatchesInFlight;
use super::io::{Counters, Input, Levels, Output, Ticket};
use super::mailbox::{MailboxItem, Mailboxes, PendingItem, owner};
use super::membership::Cluster;
use super::memory::Memory;
use super::outage::Outage;
use super::pace::{Pace, TurnWeights};
use super::pause::Lifecycle;
use super::ready::Class;
use super::slow::SlowTurns;
use super::timer_queue::{self, TimerQueue};
use super::tree::Waiters;
use crate::clock::Now;
use crate::command::Reply;
use crate::random::{Entropy, Ids};
use crate::store::{DefinitionRow, DueQuery, Recovered};

/// The number of definitions compiled at the start; others are compiled when first needed.
const PRELOADED_DEFINITIONS: usize = 1_000;

/// The configuration of a machine.
#[derive(Debug, Clone)]
pub struct Config {
    /// All limits (I8).
    pub limits: Limits,
    /// The maximum number of batches in flight. Two: one is written while the next is computed.
    /// More batches would only be smaller, and each has its own cost.
    pub batches_in_flight: usize,
    /// Whether other nodes use the same store: then no row is used without its lock.
    pub shared_store: bool,
    /// How long to wait after the store failed before trying again, in milliseconds.
    pub store_retry_ms: i64,
}

impl Default for Config {
    fn default() -> Self {
        let limits = Limits::default();
        Self { limits, batches_in_flight: 2, shared_store: false, store_retry_ms: 250 }
    }
}

/// The kernel machine. See the diagram in the module documentation.
pub struct Machine {
    pub(super) config: Config,
    pub(super) limits: Arc<Limits>,
    pub(super) ids: Ids,
    pub(super) now: Now,
    /// The last real time it was told, which may go back.
    pub(super) clock: Timestamp,
    pub(super) epoch: u32,
    pub(super) lifecycle: Lifecycle,
    pub(super) outage: Outage,
    pub(super) definitions: Definitions,
    pub(super) mailboxes: Mailboxes,
    pub(super) global: GlobalQueue,
    pub(super) timers: TimerQueue,
    pub(super) claims: Claims,
    pub(super) cluster: Cluster,
    pub(super) batches: BatchesInFlight,
    pub(super) slow: SlowTurns,
    pub(super) pace: Pace,
    pub(super) weights: TurnWeights,
    pub(super) memory: Memory,
    pub(super) waiters: Waiters,
    pub(super) outputs: VecDeque<Output>,
    pub(super) counters: Counters,
}

impl Machine {
    /// A machine that waits for [`Input::Recovered`].
    pub fn new(config: Config, notations: Notations, entropy: Box<dyn Entropy>) -> Self {
        let memory = Memory::new(config.limits.cache_bytes, config.shared_store);
        let pace = Pace::new(config.limits.batch_turns);
        let timers = TimerQueue::new(config.shared_store);
        let claims = Claims::new(config.shared_store);
        Self {
            limits: Arc::new(config.limits.clone()),
            config,
            ids: Ids::new(entropy, 0),
            now: Now::default(),
            clock: Timestamp::default(),
            epoch: 0,
            lifecycle: Lifecycle::default(),
            outage: Outage::default(),
            definitions: Definitions::new(notations),
            mailboxes: Mailboxes::default(),
            global: GlobalQueue::default(),
            timers,
            claims,
            cluster: Cluster::default(),
            batches: BatchesInFlight::default(),
            slow: SlowTurns::default(),
            pace,
            weights: TurnWeights::default(),
            memory,
            waiters: Waiters::default(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Handles an input. Engine time never goes backwards (T13).
    pub fn handle(&mut self, now: Now, input: Input) {
        self.now = self.now.max(now);
        self.clock = now.real;
        match input {
            Input::Recovered(recovered, definitions) => self.recovered(recovered, definitions),
            Input::Command(ticket, command, wait) => self.command(ticket, *command, wait),
            Input::Report(task, token, report) => self.engine_reports(task, token, report),
            Input::Abandon(ticket) => self.abandon(ticket),
            Input::Fetched(batch, fetched) => self.fetched(batch, fetched),
            Input::Advanced(batch, turns) => self.advanced(batch, turns),
            Input::SlowTurn(batch, job, turn) => self.slow_turn(batch, job, turn),
            Input::Committed(batch, results) => self.committed(batch, results),
            Input::Verified(batch, took_effect, results) => {
                self.verified(batch, took_effect, results);
            }
            Input::Timers(rows) => self.timers_read(rows),
            Input::Definition(id, loaded) => self.definition_read(id, *loaded),
            Input::Tree(instance, rows) => self.tree_read(instance, &rows),
            Input::Membership(membership, until) => self.membership_changed(membership, until),
            Input::Adopted(recovered) => self.partition_recovered(recovered),
            Input::Notices(notices) => self.receive_notices(notices),
            Input::Definitions(rows) => self.definitions_read(rows),
            Input::StoreLost(why) => self.store_lost(why),
            Input::StoreRestored => self.store_restored(),
            Input::Tick => {}
        }
    }

    /// The next output, if any. Batches begin only here, so that one batch contains everything that
    /// was put in before.
    pub fn poll(&mut self) -> Option<Output> {
        if self.outputs.is_empty() {
            self.make_progress();
        }
        self.outputs.pop_front()
    }

    /// Whether the command of a ticket is waiting for the answer of its commit.
    pub fn has_pending(&self, ticket: Ticket) -> bool {
        self.mailboxes.has_pending(ticket)
            || self.slow.items().any(|pending| pending.ticket == Some(ticket))
            || self.global.has_pending(ticket)
            || self.batches.has_pending(ticket)
    }

    /// The earliest times at which there is work to do, in engine time and in real time. Work that
    /// is due and cannot begin yet is not included: it waits for something else, such as an answer
    /// of the store or the pause after its failure.
    pub fn next_wakeup(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        if !self.has_lease() {
            return (None, self.next_caller_failure());
        }
        if self.rests() {
            return (None, self.outage.resume_at());
        }
        let earlier = |one: Option<Timestamp>, other: Option<Timestamp>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let (engine, real) = self.claims.next_wakeup();
        let real = earlier(earlier(real, self.next_unlocked()), self.end_of_rest());
        let due = self.timers.next_to_come().filter(|at| *at > self.now.engine);
        (earlier(due, engine), real)
    }

    /// The current levels, in real time.
    pub fn levels(&self, now: Timestamp) -> Levels {
        let (waiting_claims, leases) = self.claims.levels();
        let begun = self.batches.oldest();
        let (queued, queued_bytes) = self.mailboxes.queued();
        Levels {
            queued_turns: queued + self.global.len(),
            queued_bytes,
            slow_turns: self.slow.len(),
            oldest_batch_ms: begun.map(|at| u64::try_from(now.saturating_since(at)).unwrap_or(0)),
            waiting_claims,
            leases,
            ..Levels::default()
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The number of the newest committed history row.
    pub fn history(&self) -> u64 {
        self.memory.history()
    }

    /// A definition that is in memory, with the notation that runs it.
    pub fn definition(&self, id: DefinitionId) -> Option<(Arc<dyn Notation>, Arc<Definition>)> {
        match self.definitions.get(id)? {
            Loaded::Ready { notation, definition, .. } => {
                Some((notation.clone(), definition.clone()))
            }
            Loaded::Broken => None,
        }
    }

    /// The latest version of a name that can still be started, as far as this node knows.
    pub fn latest(&self, name: &str) -> Option<DefinitionId> {
        self.definitions.resolve(name, None)
    }

    /// Whether a definition is paused.
    pub fn is_definition_paused(&self, name: &str) -> bool {
        self.definitions.is_paused(name)
    }

    /// Whether no batch can begin before the store has answered one that is in flight.
    pub fn is_full(&self) -> bool {
        self.batches.len() >= self.config.batches_in_flight
    }

    /// Whether nothing is in flight: everything is done that needs neither time nor input.
    pub fn is_idle(&self) -> bool {
        self.lifecycle.is_recovered()
            && self.outputs.is_empty()
            && self.batches.is_empty()
            && self.slow.is_empty()
            && self.global.is_empty()
            && self.mailboxes.none_ready()
            && !self.definitions.are_awaited()
            && !self.timers.is_being_read()
            && !self.timers.is_holding()
            && self.timers.next_due().is_none_or(|due| due > self.now.engine)
    }

    pub(super) fn output(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    fn recovered(&mut self, recovered: Recovered, definitions: Vec<DefinitionRow>) {
        // Only engine time continues from the store (T13). Real time is not restored: leases are
        // compared with the clock of this process.
        self.now.engine = self.now.engine.max(recovered.clock);
        self.epoch = recovered.epoch;
        self.batches.continue_after(recovered.batch);
        self.ids.skip_to(recovered.seq);
        self.memory.saw_history(recovered.seq);
        for row in definitions {
            self.definitions.add_version(&row.name, row.id, row.version, row.retired);
            self.definitions.set_paused(&row.name, row.paused.is_some());
        }
        // Definitions that will probably run are compiled before the first turn needs them.
        for id in self.definitions.latest(PRELOADED_DEFINITIONS) {
            if self.definitions.wants(id) {
                self.output(Output::LoadDefinition(id));
            }
        }
        self.work_recovered(recovered);
    }

    /// Continues the work that was open when the store was last used.
    pub(super) fn go_on(&mut self, recovered: Recovered) {
        for id in recovered.ready {
            let mailbox = self.mailboxes.open(id);
            (mailbox.durable, mailbox.goes_on) = (true, true);
            self.mailboxes.wake(id, Class::Spawned);
        }
        let crashed_at = recovered.was_cut_off.then_some(recovered.clock);
        let redispatch = self.claims.recover(recovered.tasks, crashed_at, self.now);
        if !redispatch.is_empty() {
            self.global.push(GlobalAction::Redispatch(redispatch), None);
        }
    }

    /// Queues an item for an instance before all its pending items.
    pub(super) fn push_first(&mut self, id: InstanceId, pending: PendingItem, class: Class) {
        self.mailboxes.push_first(id, pending);
        self.mailboxes.wake(id, class);
    }

    /// Queues an item for an instance.
    pub(super) fn push(&mut self, id: InstanceId, pending: PendingItem, class: Class) {
        self.mailboxes.push(id, pending);
        self.mailboxes.wake(id, class);
    }

    fn make_progress(&mut self) {
        self.send_notices();
        self.resume_held_batches();
        self.enforce_lease_patience();
        if !self.lifecycle.is_recovered() || self.rests() || !self.has_lease() {
            return;
        }
        self.outage.end_rest();
        self.queue_unlocked();
        self.queue_due_timers();
        self.queue_due_tasks();
        while self.begin_batch() {}
        // While a restored copy is paused no timers are read: nothing may fire before an operator
        // resumes it.
        if !self.is_paused()
            && let Some(read) = self.timers.wants_read(self.now.engine)
        {
            let (partition, limit) = (self.cluster.partition(), timer_queue::TIMERS_PER_READ);
            let (after, before) = (read.after, read.before);
            self.output(Output::LoadTimers(DueQuery { after, before, partition, limit }));
        }
    }

    /// Moves due timers to their instances, a limited number at a time (T8).
    fn queue_due_timers(&mut self) {
        let (now, limit) = (self.now.engine, self.limits.batch_turns);
        loop {
            let mailboxes = &self.mailboxes;
            let has_room = |it| mailboxes.ready_of(Class::Timers, it) < limit;
            let Some((key, definition)) = self.timers.pop_due(now, has_room) else { return };
            let pending = PendingItem::internal(MailboxItem::Timer(key), key.due_at);
            let id = owner(key.id);
            self.mailboxes.open(id).definition = definition;
            self.push(id, pending, Class::Timers);
        }
    }

    fn queue_due_tasks(&mut self) {
        for (task, item) in self.claims.take_due(self.now) {
            let pending = PendingItem::internal(item, self.now.engine);
            self.push(task.0.instance, pending, Class::Events);
        }
        let engine = self.claims.take_redispatch();
        if !engine.is_empty() {
            self.global.push(GlobalAction::Redispatch(engine), None);
        }
        let unheard = self.claims.take_unheard();
        if !unheard.is_empty() {
            self.global.push(GlobalAction::Reoffer(unheard), None);
        }
        for (ticket, claim) in self.claims.take_woken() {
            self.global.push(GlobalAction::Claim(claim), Some(ticket));
        }
        for ticket in self.claims.take_given_up(self.now) {
            self.output(Output::Reply(ticket, Ok(Reply::Tasks(Vec::new()))));
        }
    }

    fn timers_read(&mut self, rows: Result<Vec<crate::store::TimerRow>, crate::store::Error>) {
        if let Ok(rows) = rows {
            let timers: Vec<_> = rows.iter().map(|row| (row.key(), row.definition)).collect();
            self.timers.read(&timers);
            // A turn that has to wait for its definition would be overtaken by those that come
            // after it (T8).
            for row in rows.iter().filter(|row| self.definitions.get(row.definition).is_none()) {
                self.timers.hold(row.definition);
            }
            let missing: BTreeSet<DefinitionId> = rows.iter().map(|row| row.definition).collect();
            for id in missing {
                if self.definitions.wants(id) {
                    self.output(Output::LoadDefinition(id));
                }
            }
        } else {
            self.timers.read_failed();
            self.store_failed();
        }
    }

    /// The store failed: no further batch begins for `store_retry_ms`.
    pub(super) fn store_failed(&mut self) {
        self.outage.rest_until(self.clock.saturating_add_millis(self.config.store_retry_ms));
    }

    /// Whether the pause after a failure of the store has not passed.
    fn rests(&self) -> bool {
        let resume_at = self.outage.resume_at();
        resume_at.is_some_and(|at| !self.has_passed(at, self.config.store_retry_ms))
    }

    /// Whether a real time that was at most this far ahead has passed. If it is further ahead, the
    /// clock went back; it then counts as passed, because waiting for the old time could take very
    /// long (P6).
    pub(super) fn has_passed(&self, at: Timestamp, at_most_ms: i64) -> bool {
        let left = at.saturating_since(self.clock);
        left <= 0 || left > at_most_ms
    }

    fn definition_read(&mut self, id: DefinitionId, loaded: Option<Stored>) {
        self.definitions.put(id, loaded);
        self.timers.release(id);
        for instance in self.definitions.take_waiting(id) {
            if let Some(mailbox) = self.mailboxes.get_mut(instance) {
                mailbox.waits_for_definition = false;
                let is_asked_for = mailbox.has_pending();
                let class = if is_asked_for { Class::Events } else { Class::Spawned };
                self.mailboxes.wake(instance, class);
            }
        }
    }
}
