//! After the commit, and only then: callers are answered, workers and instances woken, memory
//! brought up to date (architecture, "The turn", step 6).

use std::collections::BTreeMap;

use meantime_core::{InstanceId, Outcome, TaskKind, Termination};

use super::batch::{Batch, Note, Part, Work};
use super::engine::Machine;
use super::io::{Output, Ticket, TimedOut};
use super::loose::handed_out;
use super::ready::Class;
use super::slot::{Ack, Item, LooseItem, Pending, Standing};
use crate::command::{ClaimedTask, Error, Reply, Wait};
use crate::open::Key;
use crate::planted::{Bug, planted};
use crate::store::{self, InstanceRow, Phase, Refusal, TaskRow, TaskState, UnitDone, UnitResult};

impl Machine {
    /// A commit was answered.
    pub(super) fn committed(
        &mut self,
        number: u64,
        results: Result<Vec<UnitResult>, store::Error>,
    ) {
        match results {
            Ok(results) => self.finish_batch(number, results),
            Err(store::Error::Ambiguous { .. }) if planted(Bug::RetryAmbiguousCommit) => {
                self.verified(number, false, Vec::new());
            }
            Err(store::Error::Ambiguous { results, .. }) => {
                // Never retried blindly: the store is asked whether it took effect (I2).
                self.counters.ambiguous += 1;
                self.mark_ambiguous(number);
                let commit = self.batches.get(&number).map_or(0, |batch| batch.commit);
                self.output(Output::Verify { batch: number, commit, results });
            }
            Err(error) => {
                if let Some(batch) = self.batches.remove(&number) {
                    self.give_up(batch, &error);
                }
            }
        }
    }

    /// It is known whether a commit took effect whose answer was lost.
    pub(super) fn verified(&mut self, number: u64, took_effect: bool, results: Vec<UnitResult>) {
        let was_answered = self.clear_ambiguous(number);
        if took_effect {
            self.finish_batch(number, results);
        } else if let Some(mut batch) = self.batches.remove(&number) {
            if was_answered {
                // Its callers have heard that it is in doubt: it is not done later.
                let why = "the commit took no effect".to_owned();
                self.give_up(batch, &store::Error::Unavailable(why));
                return;
            }
            for pending in self.forget_parts(&mut batch) {
                self.push(pending.0, pending.1, Class::Events);
            }
            for work in batch.works {
                self.put_back(work);
            }
            let open = batch.loose.into_iter().filter(|loose| !loose.over);
            open.rev().for_each(|loose| self.loose.push_front(loose));
        }
    }

    /// The store failed and nothing was written: callers are told, everything else is kept.
    pub(super) fn give_up(&mut self, mut batch: Batch, error: &store::Error) {
        let told = Error::from(error);
        for (id, pending) in self.forget_parts(&mut batch) {
            match pending.ticket {
                Some(_) => self.reply(pending.ticket, Err(told.clone())),
                None => self.push(id, pending, Class::Events),
            }
        }
        for mut work in batch.works {
            let (callers, kept): (Vec<_>, Vec<_>) =
                std::mem::take(&mut work.items).into_iter().partition(|it| it.ticket.is_some());
            for pending in callers {
                self.reply(pending.ticket, Err(told.clone()));
            }
            work.items = kept;
            self.put_back(work);
        }
        for loose in batch.loose.into_iter().filter(|loose| !loose.over) {
            if loose.ticket.is_none() {
                self.loose.push_front(loose);
                continue;
            }
            self.reply(loose.ticket, Err(told.clone()));
            if let LooseItem::Claim(claim) = loose.item {
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

    /// A work goes back as it was; its row is read again.
    pub(super) fn put_back(&mut self, work: Work) {
        if work.left {
            return;
        }
        let id = work.id;
        let is_start = matches!(work.items.first(), Some(Pending { item: Item::Start(..), .. }));
        self.requeue(id, work.items, work.inbox, !is_start);
        self.rest(id);
    }

    /// Says that an instance has ended with its deadline.
    fn tell_timed_out(&mut self, row: &InstanceRow) {
        if let Some(Outcome::Failed { failure, termination: Termination::Timeout, .. }) =
            &row.extra.outcome
        {
            let (instance, definition, code) = (row.id, row.definition, failure.code.clone());
            self.output(Output::TimedOut(TimedOut { instance, definition, code }));
        }
    }

    /// A batch did not take effect: its tasks are free again. Gives back what was said of tasks
    /// whose instance is over.
    fn forget_parts(&mut self, batch: &mut Batch) -> Vec<(InstanceId, Pending)> {
        let mut said = Vec::new();
        for part in std::mem::take(&mut batch.parts) {
            match part {
                Part::Claimed(_, row) => self.claims.give_back(&row),
                Part::Detached(Some(pending), row) => said.push((row.id.0.instance, *pending)),
                // The next one who meets it raises its incident.
                Part::Damage(id, callers) => {
                    self.damaged.remove(&id);
                    self.tell_damaged(id, callers);
                }
                Part::Aside(ticket) => {
                    let why = store::Error::Unavailable("the commit took no effect".to_owned());
                    self.reply(ticket, Err(Error::from(&why)));
                }
                _ => {}
            }
        }
        said
    }

    /// The results of a batch are known.
    pub(super) fn finish_batch(&mut self, number: u64, results: Vec<UnitResult>) {
        let Some(mut batch) = self.batches.remove(&number) else { return };
        if !results.is_empty() {
            self.counters.batches += 1;
            self.counters.commit_units.observe(results.len() as u64);
        }
        let took = self.clock.saturating_since(batch.begun);
        self.pace.saw(batch.works.len(), took, batch.is_mixed);
        self.claims.commit = batch.commit;
        let mut claimed: BTreeMap<usize, Vec<ClaimedTask>> = BTreeMap::new();
        let parts = std::mem::take(&mut batch.parts);
        for (part, result) in parts.into_iter().zip(results) {
            match part {
                Part::Turn(place, row, notes) => {
                    if let Some(work) = batch.works.get_mut(place) {
                        self.turn_result(work, *row, notes, result);
                    }
                }
                Part::Detached(pending, row) => {
                    let answer = self.task_result(&row, &result);
                    match pending {
                        // What the kernel itself found due is looked at again.
                        Some(pending) if answer.is_err() && pending.ticket.is_none() => {
                            self.push(row.id.0.instance, *pending, Class::Events);
                        }
                        Some(pending) => self.reply(pending.ticket, answer.map(|()| Reply::Done)),
                        None => {}
                    }
                }
                Part::Changed(number, row) => {
                    let ticket = batch.loose.get(number).and_then(|loose| loose.ticket);
                    let until = row.lease.as_ref().map(|lease| lease.until);
                    let reply = until.map_or(Reply::Done, |until| Reply::Extended { until });
                    let answer = self.task_result(&row, &result);
                    self.reply(ticket, answer.map(|()| reply));
                }
                Part::Claimed(number, row) => {
                    self.claims.busy.remove(&row.id);
                    if self.task_result(&row, &result).is_ok() {
                        self.counters.claimed += 1;
                        claimed.entry(number).or_default().extend(handed_out(&row, self.epoch));
                    } else if let Some(LooseItem::Claim(claim)) =
                        batch.loose.get(number).map(|loose| &loose.item)
                    {
                        claim.was_crowded_out.set(true);
                    }
                }
                Part::Damage(id, callers) => self.tell_damaged(id, callers),
                Part::Aside(ticket) => self.reply(ticket, Ok(Reply::Done)),
                Part::Loose(number) => {
                    if let Some(loose) = batch.loose.get(number) {
                        self.loose_result(loose, result);
                    }
                }
            }
        }
        for (number, loose) in batch.loose.into_iter().enumerate() {
            if let (LooseItem::Claim(claim), Some(ticket)) = (loose.item, loose.ticket) {
                self.claim_result(ticket, claim, claimed.remove(&number).unwrap_or_default());
            }
        }
        for work in batch.works {
            self.finish_work(work);
        }
    }

    fn task_result(&mut self, row: &TaskRow, result: &UnitResult) -> Result<(), Error> {
        if matches!(result, UnitResult::Done(_)) {
            self.claims.changed(row, self.now.engine);
            return Ok(());
        }
        self.counters.conflicts += 1;
        Err(Error::LeaseLost(row.id))
    }

    fn turn_result(
        &mut self,
        work: &mut Work,
        row: InstanceRow,
        notes: Vec<Note>,
        result: UnitResult,
    ) {
        match result {
            UnitResult::Done(done) => {
                self.counters.turns += 1;
                self.history = self.history.max(row.last_history);
                let claims = notes.iter().map(|note| match note {
                    Note::Task(row) => row.claims,
                    _ => 0,
                });
                let claims = claims.max().unwrap_or(0);
                for note in notes {
                    self.learn(note);
                }
                self.spread(&done);
                let goes_on = matches!(row.phase, Phase::Starting | Phase::Yielding)
                    && row.extra.held.is_none();
                let ended = row.phase.is_ended();
                let starts =
                    matches!(work.items.first(), Some(Pending { item: Item::Start(..), .. }));
                if let Some(slot) = self.slots.get_mut(&work.id) {
                    if !self.config.shared_store {
                        slot.show(&row, starts);
                    }
                    slot.spawn(&done.accepted, starts);
                    slot.goes_on |= goes_on && !planted(Bug::DropYield);
                    slot.standing = Standing::of(&row);
                    slot.solo = slot.solo.saturating_sub(1);
                }
                if ended {
                    self.tell_all(work.id);
                    self.tell_timed_out(&row);
                }
                let nodes = work.assembly.as_ref().map_or_else(Vec::new, |it| it.rested.clone());
                self.rested(work.id, &nodes);
                self.cut_history(&row, claims);
                if !self.config.shared_store {
                    self.cache.put(row);
                }
            }
            UnitResult::Conflict => {
                self.counters.conflicts += 1;
                if planted(Bug::StaleCacheAfterConflict) {
                    self.cache.put(row);
                }
                self.start_over(work);
            }
            UnitResult::Refused(refusal) => self.start_refused(work, refusal),
        }
    }

    /// A fence did not hold: everything is read again and tried once more.
    pub(super) fn start_over(&mut self, work: &mut Work) {
        work.assembly = None;
        let items = std::mem::take(&mut work.items);
        let is_start = matches!(items.first(), Some(Pending { item: Item::Start(..), .. }));
        if is_start {
            // Another instance has this id: the start gets a new one.
            let id = self.ids.instance(self.now.engine);
            for item in items {
                self.push(id, item, Class::Starts);
            }
        } else {
            self.requeue(work.id, items, work.inbox, true);
        }
    }

    fn start_refused(&mut self, work: &mut Work, refusal: Refusal) {
        work.assembly = None;
        for pending in std::mem::take(&mut work.items) {
            let Item::Start(start, _) = pending.item else { continue };
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

    pub(super) fn learn(&mut self, note: Note) {
        match note {
            Note::Armed(key) => self.armed(key),
            Note::Disarmed(key) => self.timers.remove(key),
            Note::TaskOver(task) => self.claims.over(task),
            Note::Task(row) => {
                let now = self.now.engine;
                let runs_now = row.spec.kind == TaskKind::Engine
                    && row.state == TaskState::Ready
                    && row.available_at <= now;
                if runs_now {
                    self.output(Output::Dispatch(row));
                } else {
                    self.claims.changed(&row, now);
                }
            }
        }
    }

    /// Others got events, or were accepted, by the same commit.
    pub(super) fn spread(&mut self, done: &UnitDone) {
        for id in &done.woken {
            let slot = self.slots.entry(*id).or_default();
            slot.durable |= !(planted(Bug::LoseWakeUp) && slot.in_flight);
            self.wake(*id, Class::Events);
        }
        for id in &done.cancelled {
            self.wake(*id, Class::Cancels);
        }
        for id in &done.accepted {
            self.slots.entry(*id).or_default().goes_on = true;
            self.wake(*id, Class::Spawned);
        }
    }

    /// A work is through: answers go out, what was left goes back, the slot is free again.
    fn finish_work(&mut self, mut work: Work) {
        if work.left {
            return;
        }
        if let Some(mut assembly) = work.assembly.take() {
            if let Some(slot) = self.slots.get_mut(&work.id) {
                slot.misses = 0;
            }
            let mut left = Vec::new();
            for (number, pending) in work.items.into_iter().enumerate() {
                if assembly.deferred.contains(&number) {
                    left.push(pending);
                } else if let Item::Timer(timer) = pending.item {
                    self.timer_was_due(work.id, Key::from(timer.id.0));
                } else if let Some(ticket) = pending.ticket {
                    let answer = assembly.answers.remove(&number).unwrap_or(Ok(Reply::Done));
                    let after = self.fires_now(&pending.item, &assembly.row);
                    self.acknowledge(work.id, ticket, pending.wait, after, answer);
                }
            }
            self.requeue(work.id, left, assembly.more_inbox, false);
            let unchanged = !assembly.touched && !assembly.insert;
            if let Some(slot) = self.slots.get_mut(&work.id).filter(|_| unchanged) {
                slot.standing = Standing::of(&assembly.row);
            }
            if unchanged && !self.config.shared_store && !self.cache.contains(work.id) {
                self.cache.put(assembly.row);
            }
        }
        self.rest(work.id);
    }

    /// The timer that an edit made due: whoever fires or releases one is answered when it has
    /// fired. Where several nodes share a store it may fire elsewhere, and nobody waits.
    fn fires_now(&self, item: &Item, row: &InstanceRow) -> Option<Key> {
        let Item::Edit { timer, .. } = item else { return None };
        let key = Key::from(timer.0);
        let open = row.open.timers.get(&key).filter(|_| !self.config.shared_store)?;
        (!open.frozen && open.due_at <= self.now.engine).then_some(key)
    }

    /// The moment of a timer has come. Whether it fired or not, because an incident holds the
    /// instance: nobody waits for it any longer.
    fn timer_was_due(&mut self, id: InstanceId, timer: Key) {
        let acks = self.slots.get_mut(&id).map(|slot| &mut slot.acks).into_iter().flatten();
        for ack in acks.filter(|ack| ack.after == Some(timer)) {
            ack.after = None;
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
                let ack = Ack { ticket, wait, after, reply: Some(reply) };
                self.slots.entry(id).or_default().acks.push(ack);
            }
            Err(error) => self.output(Output::Reply(ticket, Err(error))),
        }
    }

    /// An instance left its batch: it is ready again, or at rest.
    fn rest(&mut self, id: InstanceId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        slot.in_flight = false;
        let quiet = !slot.durable && !slot.goes_on;
        let class =
            if slot.durable || !slot.pending.is_empty() { Class::Events } else { Class::Yields };
        self.wake(id, class);
        self.tree_member_rests(id);
        if quiet {
            self.tell_quiet(id);
        }
        self.drop_idle(id);
    }

    /// What follows by itself is done: callers who wait for that are answered.
    fn tell_quiet(&mut self, id: InstanceId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let is_told = |ack: &Ack| {
            let fires = ack.after.is_some_and(|timer| self.cache.has_timer(id, timer));
            slot.standing.satisfies(ack.wait) && !fires
        };
        let (told, wait): (Vec<_>, Vec<_>) =
            std::mem::take(&mut slot.acks).into_iter().partition(is_told);
        slot.acks = wait;
        let awaits_tree = slot.acks.iter().any(|ack| ack.wait == Wait::Settled);
        let looks_at_tree = slot.standing == Standing::Parent && awaits_tree;
        for ack in told {
            self.tell(ack);
        }
        if looks_at_tree {
            self.look_at_tree(id);
        }
    }

    /// A tree came to rest, and its root may wait for ever: those who wait for the end go on.
    pub(super) fn tell_resting(&mut self, id: InstanceId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let (told, wait): (Vec<_>, Vec<_>) =
            std::mem::take(&mut slot.acks).into_iter().partition(|ack| ack.wait != Wait::Ended);
        slot.acks = wait;
        for ack in told {
            self.tell(ack);
        }
    }

    /// An instance is over: everybody who waits for it is answered.
    pub(super) fn tell_all(&mut self, id: InstanceId) {
        let acks = self.slots.get_mut(&id).map(|slot| std::mem::take(&mut slot.acks));
        acks.into_iter().flatten().for_each(|ack| self.tell(ack));
    }

    pub(super) fn tell(&mut self, ack: Ack) {
        if let Some(mut reply) = ack.reply {
            let mut children = Vec::new();
            if let Reply::Started { instance, row, .. } = &mut reply
                && let Some(slot) = self.slots.get_mut(instance)
            {
                *row = slot.shown.take();
                children = std::mem::take(&mut slot.spawned);
            }
            children.retain(|id| {
                self.slots.get(id).is_some_and(|slot| slot.has_work() || slot.in_flight)
            });
            self.gather(ack.ticket, children, reply);
            return;
        }
        let Some((left, _)) = self.gathers.get_mut(&ack.ticket) else { return };
        *left = left.saturating_sub(1);
        if *left == 0
            && let Some((_, reply)) = self.gathers.remove(&ack.ticket)
        {
            self.output(Output::Reply(ack.ticket, Ok(reply)));
        }
    }

    /// Answers when all of these instances have come to rest.
    pub(super) fn gather(&mut self, ticket: Ticket, of: Vec<InstanceId>, reply: Reply) {
        if of.is_empty() {
            self.output(Output::Reply(ticket, Ok(reply)));
            return;
        }
        self.gathers.insert(ticket, (of.len(), reply));
        for id in of {
            let ack = Ack { ticket, wait: Wait::Quiet, after: None, reply: None };
            self.slots.entry(id).or_default().acks.push(ack);
        }
    }

    pub(super) fn drop_idle(&mut self, id: InstanceId) {
        if self.slots.get(&id).is_some_and(super::slot::Slot::is_idle) {
            self.slots.remove(&id);
        }
    }
}
