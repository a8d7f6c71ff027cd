//! After the commit, and only then: callers are answered, workers and instances are woken, and
//! memory is updated. An effect before the commit would be visible even if the commit failed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meantime_core::{DefinitionId, InstanceId, Outcome, TaskKind, Termination};

use super::batch::{Batch, BatchEntry, CacheUpdate, UnitOrigin};
use super::engine::Machine;
use super::global::handed_out;
use super::global_queue::GlobalAction;
use super::io::{Output, Ticket, TimedOut};
use super::mailbox::{MailboxItem, PendingItem, WaitState, Waiter};
use super::pace::BatchSize;
use super::ready::Class;
use crate::command::{ClaimedTask, Error, Reply, Wait};
use crate::fault_injection::{InjectedBug, is_injected};
use crate::open::Key;
use crate::store::{self, InstanceRow, Phase, Refusal, TaskRow, TaskState, UnitDone, UnitResult};

impl Machine {
    /// The answer of a commit.
    pub(super) fn committed(
        &mut self,
        number: u64,
        results: Result<Vec<UnitResult>, store::Error>,
    ) {
        match results {
            Ok(results) => {
                let batch = self.batches.take(number);
                self.finish_batch(batch, results);
            }
            Err(store::Error::Ambiguous { .. })
                if is_injected(InjectedBug::RetryAmbiguousCommit) =>
            {
                self.verified(number, false, Vec::new());
            }
            Err(store::Error::Ambiguous { results, .. }) => {
                // Never repeated without asking: the commit may have taken effect. The store is
                // asked (I2).
                self.counters.ambiguous += 1;
                let batch = self.batches.get(number).expect("an answer is for a batch in flight");
                let commit = batch.commit;
                self.mark_ambiguous(number);
                self.output(Output::Verify { batch: number, commit, results });
            }
            Err(error) => {
                let batch = self.batches.take(number);
                self.give_up(batch, &error);
            }
        }
    }

    /// The store knows whether an ambiguous commit took effect.
    pub(super) fn verified(&mut self, number: u64, took_effect: bool, results: Vec<UnitResult>) {
        let was_answered = self.clear_ambiguous(number);
        let mut batch = self.batches.take(number);
        if took_effect {
            self.finish_batch(batch, results);
            return;
        }
        if was_answered {
            // Callers were already answered `store_ambiguous` and may act on it: the command must
            // not be executed later.
            batch.is_answered = true;
            let why = "the commit took no effect".to_owned();
            self.give_up(batch, &store::Error::Unavailable(why));
            return;
        }
        for pending in self.forget_origins(&mut batch) {
            self.push(pending.0, pending.1, Class::Events);
        }
        self.return_hand_offs(&mut batch);
        for entry in batch.entries {
            self.put_back(entry);
        }
        let open = batch.global.into_iter().filter(|global| !global.over);
        open.rev().for_each(|global| self.global.put_back(global));
    }

    /// Nothing was written: callers get the error, and all other work is queued again.
    pub(super) fn give_up(&mut self, mut batch: Batch, error: &store::Error) {
        let told = Error::from(error);
        self.return_hand_offs(&mut batch);
        for (id, pending) in self.forget_origins(&mut batch) {
            match pending.ticket {
                Some(_) => self.reply(pending.ticket, Err(told.clone())),
                None => self.push(id, pending, Class::Events),
            }
        }
        for mut entry in batch.entries {
            let (callers, kept): (Vec<_>, Vec<_>) =
                std::mem::take(&mut entry.items).into_iter().partition(|it| it.ticket.is_some());
            for pending in callers {
                self.reply(pending.ticket, Err(told.clone()));
            }
            entry.items = kept;
            self.put_back(entry);
        }
        for global in batch.global.into_iter().filter(|global| !global.over).rev() {
            // A worker that waits is patient: its claim is tried again, before later ones.
            let claims_again = !batch.is_answered
                && global.action.claim().is_some_and(|claim| claim.waits(self.now));
            if global.ticket.is_none() || claims_again {
                self.global.put_back(global);
                continue;
            }
            self.reply(global.ticket, Err(told.clone()));
            if let GlobalAction::Claim(claim) = global.action {
                self.claims.pass_on(claim);
            }
        }
        self.store_failed();
        if matches!(
            error.class(),
            store::Class::Corrupt | store::Class::Restart | store::Class::Bug
        ) {
            self.output(Output::Fatal(told));
        }
    }

    /// Queues the items of an entry again; its row is read again by the next turn.
    pub(super) fn put_back(&mut self, entry: BatchEntry) {
        if entry.left {
            return;
        }
        let id = entry.id;
        let is_start =
            matches!(entry.items.first(), Some(PendingItem { item: MailboxItem::Start(..), .. }));
        self.requeue(id, entry.items, entry.inbox, !is_start);
        self.rest(id);
    }

    /// Reports that an instance ended by its deadline.
    fn report_timed_out(&mut self, row: &InstanceRow) {
        if let Some(Outcome::Failed { failure, termination: Termination::Timeout, .. }) =
            &row.meta.outcome
        {
            let (instance, definition, code) = (row.id, row.definition, failure.code.clone());
            self.output(Output::TimedOut(TimedOut { instance, definition, code }));
        }
    }

    /// A batch did not take effect: its tasks can be claimed again. Returns the reports and
    /// expiries of tasks whose instance has ended.
    fn forget_origins(&mut self, batch: &mut Batch) -> Vec<(InstanceId, PendingItem)> {
        let mut said = Vec::new();
        for part in std::mem::take(&mut batch.origins) {
            match part {
                UnitOrigin::Claimed(_, row) => self.claims.give_back(&row),
                UnitOrigin::Detached(Some(pending), row) => {
                    said.push((row.id.0.instance, *pending));
                }
                // The next turn of the instance raises the incident again.
                UnitOrigin::Damage(id, callers) => {
                    self.memory.forget_damage(id);
                    self.report_damaged(id, callers);
                }
                UnitOrigin::Aside(ticket) => {
                    let why = store::Error::Unavailable("the commit took no effect".to_owned());
                    self.reply(ticket, Err(Error::from(&why)));
                }
                _ => {}
            }
        }
        said
    }

    /// Applies the results of a batch.
    pub(super) fn finish_batch(&mut self, mut batch: Batch, results: Vec<UnitResult>) {
        if !results.is_empty() {
            self.counters.batches += 1;
            self.counters.commit_units.observe(results.len() as u64);
        }
        let took = self.clock.saturating_since(batch.begun);
        let size = BatchSize { turns: batch.entries.len(), effects: batch.effects };
        self.pace.saw(size, took, batch.mix, self.clock);
        self.claims.begin_results(batch.commit);
        let mut claimed: BTreeMap<usize, Vec<ClaimedTask>> = BTreeMap::new();
        let mut done = BTreeSet::new();
        let origins = std::mem::take(&mut batch.origins);
        for (part, result) in origins.into_iter().zip(results) {
            match part {
                UnitOrigin::Turn(index, row, cache_updates) => {
                    if matches!(result, UnitResult::Done(_)) && !batch.handed.is_empty() {
                        done.insert(index);
                    }
                    self.turn_result(batch.entry_mut(index), row, cache_updates, result);
                }
                UnitOrigin::Detached(pending, row) => {
                    let answer = self.task_result(&row, &result);
                    match pending {
                        // The task was changed by another commit. An expiry or timeout found by the
                        // kernel has no caller that could repeat it, so it is checked again against
                        // the new row.
                        Some(pending) if answer.is_err() && pending.ticket.is_none() => {
                            self.push(row.id.0.instance, *pending, Class::Events);
                        }
                        Some(pending) => self.reply(pending.ticket, answer.map(|()| Reply::Done)),
                        None => {}
                    }
                }
                UnitOrigin::Changed(number, row) => {
                    let ticket = batch.global[number].ticket;
                    let until = row.lease.as_ref().map(|lease| lease.until);
                    let reply = until.map_or(Reply::Done, |until| Reply::Extended { until });
                    let answer = self.task_result(&row, &result);
                    self.reply(ticket, answer.map(|()| reply));
                }
                UnitOrigin::Claimed(number, row) => {
                    self.claims.lease_is_answered(row.id);
                    if self.task_result(&row, &result).is_ok() {
                        self.counters.claimed += 1;
                        claimed.entry(number).or_default().extend(handed_out(&row, self.epoch));
                    } else if let Some(claim) = batch.global[number].action.claim() {
                        claim.ask_again();
                    }
                }
                UnitOrigin::Damage(id, callers) => self.report_damaged(id, callers),
                UnitOrigin::Aside(ticket) => self.reply(ticket, Ok(Reply::Done)),
                UnitOrigin::GlobalCommand(number) => {
                    self.global_result(&batch.global[number], result);
                }
            }
        }
        self.finish_hand_offs(std::mem::take(&mut batch.handed), &done, &mut claimed);
        for (number, global) in batch.global.into_iter().enumerate() {
            if let (GlobalAction::Claim(claim), Some(ticket)) = (global.action, global.ticket) {
                self.claim_result(ticket, claim, claimed.remove(&number).unwrap_or_default());
            }
        }
        for entry in batch.entries {
            self.finish_entry(entry);
        }
    }

    fn task_result(&mut self, row: &TaskRow, result: &UnitResult) -> Result<(), Error> {
        if matches!(result, UnitResult::Done(_)) {
            self.task_changed(row);
            return Ok(());
        }
        // The fence of the task did not hold: another commit claimed, released or ended the task
        // meanwhile, so this row is stale and was not written.
        self.counters.conflicts += 1;
        Err(Error::LeaseLost(row.id))
    }

    fn turn_result(
        &mut self,
        entry: &mut BatchEntry,
        row: Arc<InstanceRow>,
        cache_updates: Vec<CacheUpdate>,
        result: UnitResult,
    ) {
        match result {
            UnitResult::Done(done) => {
                self.counters.turns += 1;
                self.memory.saw_history(row.last_history);
                let claims = cache_updates.iter().map(|cache_update| match cache_update {
                    CacheUpdate::Task(row) => row.claims,
                    _ => 0,
                });
                let claims = claims.max().unwrap_or(0);
                for cache_update in cache_updates {
                    self.apply_cache_update(cache_update);
                }
                self.spread(&done, Some(row.definition));
                let goes_on =
                    matches!(row.phase, Phase::Starting | Phase::Yielding) && row.meta.may_go_on();
                let ended = row.phase.is_ended();
                let starts = matches!(
                    entry.items.first(),
                    Some(PendingItem { item: MailboxItem::Start(..), .. })
                );
                let mailbox = self.mailboxes.of_batch(entry.id);
                if !self.config.shared_store {
                    mailbox.show(&row, starts);
                }
                mailbox.spawn(&done.accepted, starts);
                mailbox.goes_on |= goes_on && !is_injected(InjectedBug::DropYield);
                mailbox.wait_state = WaitState::of(&row);
                mailbox.solo = mailbox.solo.saturating_sub(1);
                if ended {
                    self.answer_all_waiters(entry.id);
                    self.report_timed_out(&row);
                }
                let nodes = entry.builder.as_ref().map_or_else(Vec::new, |it| it.rested.clone());
                self.rested(entry.id, &nodes);
                self.cut_history(&row, claims);
                self.memory.keep(row);
            }
            UnitResult::Conflict => {
                self.counters.conflicts += 1;
                if is_injected(InjectedBug::StaleCacheAfterConflict) {
                    self.memory.keep(row);
                }
                self.start_over(entry);
            }
            UnitResult::Refused(refusal) => self.start_refused(entry, refusal),
        }
    }

    /// The fence did not hold: another node (or an earlier attempt) advanced this instance. Nothing
    /// of this unit was written, so the turn is rebuilt from the stored row.
    pub(super) fn start_over(&mut self, entry: &mut BatchEntry) {
        entry.builder = None;
        let items = std::mem::take(&mut entry.items);
        let is_start =
            matches!(items.first(), Some(PendingItem { item: MailboxItem::Start(..), .. }));
        if is_start {
            // An instance with this id exists: the start gets a new id.
            let id = self.ids.instance(self.now.engine);
            for item in items {
                self.push(id, item, Class::Starts);
            }
        } else {
            self.requeue(entry.id, items, entry.inbox, true);
        }
    }

    fn start_refused(&mut self, entry: &mut BatchEntry, refusal: Refusal) {
        entry.builder = None;
        for pending in std::mem::take(&mut entry.items) {
            let MailboxItem::Start(start, _) = pending.item else {
                // It was meant for an instance with this id, which does not exist.
                self.reply(pending.ticket, Err(Error::UnknownInstance(entry.id)));
                continue;
            };
            let answer = match refusal {
                Refusal::KeyTaken(holder) => {
                    Err(Error::KeyTaken { key: start.key.unwrap_or_default(), holder })
                }
                Refusal::Repeated(instance) => {
                    Ok(Reply::Started { instance, repeated: true, row: None })
                }
                Refusal::KeyReused => {
                    Err(Error::IdempotencyMismatch(start.idempotency.unwrap_or_default()))
                }
                Refusal::UnknownDefinition | Refusal::TooManyStarts => {
                    Err(Error::UnknownDefinition { name: start.definition, version: start.version })
                }
            };
            self.reply(pending.ticket, answer);
        }
    }

    pub(super) fn apply_cache_update(&mut self, cache_update: CacheUpdate) {
        match cache_update {
            CacheUpdate::Armed(key, definition) => self.armed(key, definition),
            CacheUpdate::Disarmed(key) => self.timers.remove(key),
            CacheUpdate::TaskOver(task) => {
                self.memory.take_task(task);
                self.claims.over(task);
            }
            // Its instance has ended; what is in memory does not say so.
            CacheUpdate::TaskDetached(task) => drop(self.memory.take_task(task)),
            CacheUpdate::Task(row) => {
                let runs_now = row.spec.kind == TaskKind::Engine
                    && row.state == TaskState::Ready
                    && row.available_at <= self.now.engine;
                if runs_now {
                    self.memory.keep_task(&row);
                    self.output(Output::Dispatch(row));
                } else {
                    self.task_changed(&row);
                }
            }
        }
    }

    /// A commit wrote the row of a task that does not run in the engine now.
    fn task_changed(&mut self, row: &TaskRow) {
        if row.state == TaskState::Leased {
            self.memory.keep_task(row);
        } else {
            self.memory.take_task(row.id);
        }
        self.claims.changed(row, self.now.engine);
    }

    /// Wakes the instances that got events or cancels, or were accepted, by the same commit, in a
    /// turn of an instance of `parent`.
    pub(super) fn spread(&mut self, done: &UnitDone, parent: Option<DefinitionId>) {
        for id in &done.woken {
            let mailbox = self.mailboxes.open(*id);
            mailbox.durable |= !(is_injected(InjectedBug::LoseWakeUp) && mailbox.in_flight);
            let class = mailbox.class_of_events();
            self.mailboxes.wake(*id, class);
        }
        for id in &done.cancelled {
            self.mailboxes.wake(*id, Class::Cancels);
        }
        for (id, definition) in done.accepted.iter().zip(&done.accepted_definitions) {
            self.mailboxes.accept(*id, *definition, parent);
        }
    }

    /// An entry is done: answers its callers, queues deferred items again, and frees the mailbox.
    fn finish_entry(&mut self, mut entry: BatchEntry) {
        if entry.left {
            return;
        }
        if let Some(mut builder) = entry.builder.take() {
            self.mailboxes.of_batch(entry.id).misses = 0;
            let mut left = Vec::new();
            for (number, pending) in entry.items.into_iter().enumerate() {
                if builder.deferred.contains(&number) {
                    left.push(pending);
                } else if let MailboxItem::Timer(timer) = pending.item {
                    self.timer_was_due(entry.id, Key::from(timer.id.0));
                } else if let Some(ticket) = pending.ticket {
                    let answer = builder.answers.remove(&number).unwrap_or(Ok(Reply::Done));
                    let after = self.fires_now(&pending.item, &builder.row);
                    self.acknowledge(entry.id, ticket, pending.wait, after, answer);
                }
            }
            self.requeue(entry.id, left, builder.more_inbox, false);
            if !builder.touched && !builder.insert {
                self.mailboxes.of_batch(entry.id).wait_state = WaitState::of(&builder.row);
                self.memory.keep_if_absent(builder.row);
            }
        }
        self.rest(entry.id);
    }

    /// The timer that an edit made due: the caller who fires or releases it is answered after it
    /// has fired. On a shared store it may fire on another node, so there the caller does not wait.
    fn fires_now(&self, item: &MailboxItem, row: &InstanceRow) -> Option<Key> {
        let MailboxItem::Edit { timer, .. } = item else { return None };
        let key = Key::from(timer.0);
        let open = row.open.timers.get(&key).filter(|_| !self.config.shared_store)?;
        (!open.frozen && open.due_at <= self.now.engine).then_some(key)
    }

    /// A timer was handled. Its waiters are released even if it did not fire, because an incident
    /// may hold the instance.
    fn timer_was_due(&mut self, id: InstanceId, timer: Key) {
        let waiters =
            self.mailboxes.get_mut(id).map(|mailbox| &mut mailbox.waiters).into_iter().flatten();
        for waiter in waiters.filter(|waiter| waiter.after == Some(timer)) {
            waiter.after = None;
        }
    }

    fn acknowledge(
        &mut self,
        id: InstanceId,
        ticket: Ticket,
        wait: Wait,
        after: Option<Key>,
        answer: Result<Reply, Error>,
    ) {
        match answer {
            Ok(reply) => {
                let waiter = Waiter { ticket, wait, after, reply: Some(reply) };
                self.mailboxes.open(id).waiters.push(waiter);
            }
            Err(error) => self.output(Output::Reply(ticket, Err(error))),
        }
    }

    /// An instance left its batch: it becomes ready again or idle.
    fn rest(&mut self, id: InstanceId) {
        let mailbox = self.mailboxes.of_batch(id);
        mailbox.in_flight = false;
        let quiet = !mailbox.durable && !mailbox.goes_on;
        let has_events = mailbox.durable || mailbox.has_pending();
        let class = if has_events { mailbox.class_of_events() } else { Class::Yields };
        self.mailboxes.wake(id, class);
        self.tree_member_rests(id);
        if quiet {
            self.answer_quiet_waiters(id);
        }
        self.drop_idle(id);
    }

    /// No turn follows without a new event: answers the callers whose wait is satisfied.
    fn answer_quiet_waiters(&mut self, id: InstanceId) {
        let mailbox = self.mailboxes.of_batch(id);
        let is_told = |waiter: &Waiter| {
            let fires = waiter.after.is_some_and(|timer| self.memory.has_timer(id, timer));
            mailbox.wait_state.satisfies(waiter.wait) && !fires
        };
        let (told, wait): (Vec<_>, Vec<_>) =
            std::mem::take(&mut mailbox.waiters).into_iter().partition(is_told);
        mailbox.waiters = wait;
        let awaits_tree = mailbox.waiters.iter().any(|waiter| waiter.wait == Wait::Idle);
        let looks_at_tree = mailbox.wait_state == WaitState::Parent && awaits_tree;
        for waiter in told {
            self.answer_waiter(waiter);
        }
        if looks_at_tree {
            self.look_at_tree(id);
        }
    }

    /// A tree is idle, and its root may wait for ever: answers all callers except those who wait
    /// for its end.
    pub(super) fn answer_idle_waiters(&mut self, id: InstanceId) {
        // The callers may have left while the tree was read.
        let Some(mailbox) = self.mailboxes.get_mut(id) else { return };
        let (told, wait): (Vec<_>, Vec<_>) = std::mem::take(&mut mailbox.waiters)
            .into_iter()
            .partition(|waiter| waiter.wait != Wait::Ended);
        mailbox.waiters = wait;
        for waiter in told {
            self.answer_waiter(waiter);
        }
    }

    /// An instance has ended: answers all waiting callers.
    pub(super) fn answer_all_waiters(&mut self, id: InstanceId) {
        let waiters =
            self.mailboxes.get_mut(id).map(|mailbox| std::mem::take(&mut mailbox.waiters));
        waiters.into_iter().flatten().for_each(|waiter| self.answer_waiter(waiter));
    }

    pub(super) fn answer_waiter(&mut self, waiter: Waiter) {
        if let Some(mut reply) = waiter.reply {
            let mut children = Vec::new();
            if let Reply::Started { instance, row, .. } = &mut reply
                && let Some(mailbox) = self.mailboxes.get_mut(*instance)
            {
                *row = mailbox.shown.take();
                children = std::mem::take(&mut mailbox.spawned);
            }
            children.retain(|id| {
                self.mailboxes
                    .get(*id)
                    .is_some_and(|mailbox| mailbox.has_work() || mailbox.in_flight)
            });
            self.reply_when_idle(waiter.ticket, children, reply);
            return;
        }
        if let Some(reply) = self.waiters.one_is_idle(waiter.ticket) {
            self.output(Output::Reply(waiter.ticket, Ok(reply)));
        }
    }

    /// Answers when all of these instances have no more turns to do.
    pub(super) fn reply_when_idle(&mut self, ticket: Ticket, of: Vec<InstanceId>, reply: Reply) {
        if of.is_empty() {
            self.output(Output::Reply(ticket, Ok(reply)));
            return;
        }
        self.waiters.wait_for_group(ticket, of.len(), reply);
        for id in of {
            let waiter = Waiter { ticket, wait: Wait::Quiet, after: None, reply: None };
            self.mailboxes.open(id).waiters.push(waiter);
        }
    }

    pub(super) fn drop_idle(&mut self, id: InstanceId) {
        self.mailboxes.drop_idle(id);
    }
}
