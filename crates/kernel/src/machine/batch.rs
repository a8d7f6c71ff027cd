//! Batches: filled from the ready set, read from the store, computed, and sent to the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meantime_core::{
    Definition, DefinitionId, Event, Fault, IncidentId, InstanceId, TaskId, Timestamp, Turn,
};

use super::claim::ParkedClaim;
use super::damage::cancel_in;
use super::definitions::Loaded;
use super::end::Runnable;
use super::engine::Machine;
use super::global_queue::GlobalCommand;
use super::hand_off::HandOff;
use super::in_flight::ComputedTurns;
use super::io::{Output, Ticket};
use super::job::{Job, JobKind};
use super::mailbox::{MailboxItem, PendingItem};
use super::outcome::TurnResult;
use super::pace;
use super::ready::{Class, Mix, PickRules};
use super::slow::{EFFECTS_PER_MIXED_BATCH, effects};
use super::turn_builder::{TurnBuilder, TurnEnv};
use crate::command::{Error, Reply, Wait};
use crate::fault_injection::{InjectedBug, is_injected};
use crate::store::{
    self, FetchRequest, Fetched, InboxRow, InstanceRow, Phase, Plan, TaskRow, TimerKey, Unit,
    Wanted, Write,
};

/// The most global commands in one batch.
const GLOBAL_PER_BATCH: usize = 1_024;

/// A timer that is later than this is overdue: the engine was down, or has more work than it can
/// do.
const OVERDUE_MS: i64 = 1_000;

/// A batch between its start and the answer of its commit.
#[derive(Default)]
pub(super) struct Batch {
    /// Which kinds of turns it contains; decides how long the batch may take.
    pub(super) mix: Mix,
    /// The room that background turns had beside starts, and the room for all turns, in effects.
    background: usize,
    room: usize,
    /// How many effects its turns have.
    pub(super) effects: usize,
    /// The lease term in which it began; its sequence numbers are valid only in this term.
    lease_term: Option<u64>,
    /// The real time at which it began.
    pub(super) begun: Timestamp,
    pub(super) entries: Vec<BatchEntry>,
    pub(super) global: Vec<GlobalCommand>,
    /// The origin of each unit of the plan, in order.
    pub(super) origins: Vec<UnitOrigin>,
    pub(super) units: Vec<Unit>,
    pub(super) claims: Vec<usize>,
    /// How many tasks each of its claims can still take: its query has found all that were ready.
    pub(super) rooms: Vec<(usize, usize)>,
    /// New tasks that are leased in this commit, by the claim that gets them.
    pub(super) handed: Vec<HandOff>,
    /// Queue and type of the new tasks that no claim gets in this commit.
    pub(super) unclaimed: BTreeSet<(String, String)>,
    /// Its callers have an answer already, because its commit was in doubt for long.
    pub(super) is_answered: bool,
    tasks: Vec<TaskId>,
    /// Rows of tasks that were in memory.
    cached_tasks: BTreeMap<TaskId, TaskRow>,
    incidents: Vec<IncidentId>,
    wanted: Vec<Wanted>,
    fetched: Fetched,
    jobs: Vec<usize>,
    /// Entries with a computed turn: a slow turn that left its batch, or one that was deferred.
    computed: Vec<(usize, Result<Turn, Fault>)>,
    /// Entries whose turn is built; they become units when the plan is made.
    turns: Vec<usize>,
    /// The number under which the store commits it; zero before the plan is made.
    pub(super) commit: u64,
    /// Whether it fires timers, and whether one of them is overdue.
    pub(super) fires: bool,
    is_overdue: bool,
    /// Its computed turns, while it waits for an earlier batch that fires timers.
    pub(super) held: Option<ComputedTurns>,
}

impl Batch {
    /// Lets claims that get no task ask the store once more.
    fn repeat_claims(&self) {
        for global in &self.global {
            if let Some(claim) = global.action.claim() {
                claim.ask_again();
            }
        }
    }
}

/// One instance in a batch.
pub(super) struct BatchEntry {
    pub(super) id: InstanceId,
    /// Why it was ready.
    class: Class,
    pub(super) items: Vec<PendingItem>,
    /// Whether its inbox is read.
    pub(super) inbox: bool,
    pub(super) cached: Option<InstanceRow>,
    pub(super) builder: Option<Box<TurnBuilder>>,
    pub(super) runnable: Option<Runnable>,
    /// Its turn is slow and has left the batch; this entry is empty.
    pub(super) left: bool,
}

/// The origin of one unit of the plan.
#[derive(Debug)]
pub(super) enum UnitOrigin {
    /// The turn of an entry: the row after the turn, and the cache updates.
    Turn(usize, Arc<InstanceRow>, Vec<CacheUpdate>),
    /// A detached task of an ended instance, and the report or expiry that changes it, if any.
    Detached(Option<Box<PendingItem>>, Box<TaskRow>),
    /// A global command.
    GlobalCommand(usize),
    /// A task leased to a claim.
    Claimed(usize, Box<TaskRow>),
    /// A task that a global command changed.
    Changed(usize, Box<TaskRow>),
    /// The incident of a damaged instance, and the callers to answer.
    Damage(InstanceId, Vec<Ticket>),
    /// A write without a turn, and the caller to answer, if any.
    Aside(Option<Ticket>),
}

/// What memory must learn of a unit that was committed.
#[derive(Debug)]
pub(super) enum CacheUpdate {
    Armed(TimerKey, DefinitionId),
    Disarmed(TimerKey),
    Task(Box<TaskRow>),
    TaskDetached(TaskId),
    TaskOver(TaskId),
}

impl Batch {
    /// How many effects it commits, unless a single turn has more.
    pub(super) fn effects_limit(&self) -> usize {
        match self.mix {
            Mix::Plain => self.room,
            Mix::Mixed | Mix::MixedAndCut => {
                let background = self.background.max(EFFECTS_PER_MIXED_BATCH);
                (background + 2 * self.entries.len()).min(self.room)
            }
        }
    }

    /// Adds an entry with the turn that was computed for it.
    pub(super) fn add_computed(&mut self, entry: BatchEntry, turn: Result<Turn, Fault>) {
        self.computed.push((self.entries.len(), turn));
        self.entries.push(entry);
    }

    /// An entry by its index. One that this batch does not have is a bug of the machine: it stops
    /// the process, because skipping the entry would lose its events.
    pub(super) fn entry_mut(&mut self, index: usize) -> &mut BatchEntry {
        &mut self.entries[index]
    }

    /// Takes out an entry with a slow turn; an empty entry keeps its index.
    fn take_slow(&mut self, index: usize) -> BatchEntry {
        let entry = self.entry_mut(index);
        let gone = BatchEntry { left: true, ..BatchEntry::new(entry.id) };
        std::mem::replace(entry, gone)
    }

    /// Adds a unit to the plan.
    pub(super) fn add_unit(&mut self, unit: Unit, origin: UnitOrigin) {
        self.units.push(unit);
        self.origins.push(origin);
    }

    pub(super) fn add_turn(&mut self, index: usize, builder: Box<TurnBuilder>) {
        self.entry_mut(index).builder = Some(builder);
        self.turns.push(index);
    }

    /// The turns that become units when the plan is made, by the index of their entry.
    pub(super) fn turns_mut(&mut self) -> impl Iterator<Item = (usize, &mut TurnBuilder)> {
        let turns: BTreeSet<usize> = self.turns.iter().copied().collect();
        let entries = self.entries.iter_mut().enumerate();
        let entries = entries.filter(move |(index, _)| turns.contains(index));
        entries.filter_map(|(index, entry)| Some((index, &mut **entry.builder.as_mut()?)))
    }
}

impl BatchEntry {
    /// The definition of its instance, as far as it is known.
    pub(super) fn definition_id(&self) -> DefinitionId {
        self.builder.as_ref().map_or(DefinitionId(0), |it| it.row.definition)
    }

    /// Whether a caller of the entry waits in this way.
    fn is_awaited(&self, wait: Wait) -> bool {
        self.items.iter().any(|item| item.ticket.is_some() && item.wait == wait)
    }

    pub(super) fn new(id: InstanceId) -> Self {
        let (items, inbox, cached) = (Vec::new(), false, None);
        let (class, builder, runnable) = (Class::Yields, None, None);
        Self { id, class, items, inbox, cached, builder, runnable, left: false }
    }
}

fn cache_updates(writes: &[Write], definition: DefinitionId) -> Vec<CacheUpdate> {
    let mut cache_updates = Vec::new();
    for write in writes {
        match write {
            Write::InsertTimer(row) => {
                cache_updates.push(CacheUpdate::Armed(row.key(), definition));
            }
            Write::DeleteTimer(key) => cache_updates.push(CacheUpdate::Disarmed(*key)),
            Write::MoveTimer { from, to } => {
                cache_updates.push(CacheUpdate::Disarmed(*from));
                cache_updates.push(CacheUpdate::Armed(*to, definition));
            }
            Write::InsertTask(row) | Write::UpdateTask { row, .. } => {
                cache_updates.push(CacheUpdate::Task(row.clone()));
            }
            Write::DeleteTask { id, .. } => cache_updates.push(CacheUpdate::TaskOver(*id)),
            Write::DetachTask(id) => cache_updates.push(CacheUpdate::TaskDetached(*id)),
            _ => {}
        }
    }
    cache_updates
}

impl Machine {
    /// Starts a batch if there is work and fewer than `batches_in_flight` batches are in flight. It
    /// takes what is ready and never waits for more, so an idle engine commits at once and a busy
    /// one in groups (I11).
    pub(super) fn begin_batch(&mut self) -> bool {
        let full = self.is_full();
        let nothing = self.mailboxes.none_ready() && self.global.is_empty();
        if full || (nothing && !self.slow.has_computed()) {
            return false;
        }
        self.drop_stale_turns();
        let (lease_term, begun) = (self.cluster.lease_term(), self.clock);
        let (background, room) = (self.pace.background(), self.pace.effects());
        let mut batch = Batch { background, room, lease_term, begun, ..Batch::default() };
        // On a shared store the commits of two batches run in parallel and may finish in any order.
        // While a batch with overdue timers is in flight, no second one with timers is started, so
        // that they fire in due order (T8).
        let in_order = self.config.shared_store && self.batches.any(|it| it.is_overdue);
        let late = in_order.then_some(Class::Timers);
        let picked = self.mailboxes.pick(&PickRules {
            now: self.clock,
            background: (!self.background_rests()).then_some(background),
            limit: self.pace.turns(),
            effects: room - self.slow.effects_to_join(room),
            late,
            waits: &|it| self.slow.has_many(it),
            weight: &|it, class| self.weights.effects(it, class),
        });
        let found = !picked.instances.is_empty();
        batch.mix = picked.mix;
        for (id, class) in picked.instances {
            batch.entries.extend(self.begin_entry(id, class));
        }
        let fresh = batch.entries.len();
        self.note_timers(&mut batch);
        self.slow.join(&mut batch);
        batch.global = self.global.take(GLOBAL_PER_BATCH);
        if batch.entries.is_empty() && batch.global.is_empty() {
            // The picked mailboxes may have been empty; what was skipped waits for another event.
            return found && !self.mailboxes.none_ready();
        }
        let request = self.request(&mut batch, fresh);
        let nothing_to_read = request.instances.is_empty()
            && request.tasks.is_empty()
            && request.claims.is_empty()
            && request.incidents.is_empty();
        let number = self.batches.begin(batch);
        if nothing_to_read {
            self.fetched(number, Ok(Fetched::default()));
        } else {
            self.output(Output::Fetch(number, request));
        }
        true
    }

    /// Whether background turns have to wait while starts come in: a batch that could not take all
    /// of them is in flight, or has been a moment ago.
    fn background_rests(&self) -> bool {
        self.batches.any(|batch| batch.mix == Mix::MixedAndCut)
            || self.pace.rests_until().is_some_and(|at| !self.has_passed(at, pace::REST_MS))
    }

    /// When background turns that rest go on, in real time.
    pub(super) fn end_of_rest(&self) -> Option<Timestamp> {
        let at = self.pace.rests_until().filter(|at| !self.has_passed(*at, pace::REST_MS));
        at.filter(|_| !self.mailboxes.none_ready())
    }

    fn note_timers(&self, batch: &mut Batch) {
        for item in batch.entries.iter().flat_map(|entry| &entry.items) {
            let MailboxItem::Timer(key) = item.item else { continue };
            batch.fires = true;
            batch.is_overdue |= self.now.engine.saturating_since(key.due_at) > OVERDUE_MS;
        }
    }

    /// Continues a batch whose turns waited for an earlier one.
    pub(super) fn resume_held_batches(&mut self) {
        if let Some((number, turns)) = self.batches.take_held() {
            self.advanced(number, turns);
        }
    }

    fn begin_entry(&mut self, id: InstanceId, class: Class) -> Option<BatchEntry> {
        let solo_limit = self.limits.events_per_turn;
        let mailbox = self.mailboxes.get_mut(id)?;
        let limit = if mailbox.solo > 0 { 1 } else { solo_limit };
        // With one event per turn, events of the inbox are taken before pending items.
        let inbox_first = mailbox.solo > 0 && mailbox.durable && !self.slow.has_cancel(id);
        let from_memory = if inbox_first { 0 } else { limit };
        mailbox.in_flight = true;
        let inbox = mailbox.durable;
        (mailbox.durable, mailbox.goes_on) = (false, false);
        let items = self.mailboxes.take(id, from_memory);
        let cached = self.memory.take(id);
        Some(BatchEntry { class, items, inbox, cached, ..BatchEntry::new(id) })
    }

    /// The reads for the fresh entries and the global commands of a batch; entries with a computed
    /// turn were read by their first batch.
    fn request(&mut self, batch: &mut Batch, fresh: usize) -> FetchRequest {
        let mut tasks = BTreeSet::new();
        for (index, entry) in batch.entries.iter().enumerate() {
            if index >= fresh {
                // The locks of its first batch are released: row and inbox are read again, to
                // compare them with the ones that the turn was computed from.
                let starts = entry.builder.as_ref().is_none_or(|it| it.insert);
                if self.config.shared_store && !starts {
                    batch.wanted.push(Wanted { id: entry.id, row: true, inbox: true });
                }
                continue;
            }
            let new = matches!(
                entry.items.first(),
                Some(PendingItem { item: MailboxItem::Start(..), .. })
            );
            let row = !new && (entry.cached.is_none() || self.config.shared_store);
            // On a shared store other nodes write to the inbox too, and may stop before they
            // process it.
            let inbox = entry.inbox || (row && self.config.shared_store);
            // An event that cannot be decoded blocks the ones after it, so the inbox is always
            // read.
            let inbox = inbox || self.memory.is_damaged(entry.id);
            if row || inbox {
                batch.wanted.push(Wanted { id: entry.id, row, inbox });
            }
            tasks.extend(entry.items.iter().filter_map(|pending| pending.item.task()));
            batch.incidents.extend(entry.items.iter().filter_map(|it| it.item.incident()));
        }
        let mut claims = Vec::new();
        let limit = self.claim_query_limit(batch);
        for (number, global) in batch.global.iter().enumerate() {
            tasks.extend(global.action.tasks());
            batch.incidents.extend(global.action.incident().map(|(incident, ..)| incident));
            if let Some(claim) = global.action.claim()
                && !self.claims.finds_nothing(claim)
            {
                claims.push(self.claims.query(claim, limit));
                batch.claims.push(number);
            }
        }
        for id in tasks {
            match self.memory.take_task(id) {
                Some(row) => drop(batch.cached_tasks.insert(id, row)),
                None => batch.tasks.push(id),
            }
        }
        FetchRequest {
            now: self.now.engine,
            instances: batch.wanted.clone(),
            tasks: batch.tasks.clone(),
            claims,
            incidents: batch.incidents.clone(),
            inbox_limit: self.limits.events_per_turn,
        }
    }

    /// How many tasks the query of each claim of a batch reads. Claims of one batch may match the
    /// same rows: each reads enough for all of them.
    pub(super) fn claim_query_limit(&self, batch: &Batch) -> usize {
        let claiming = batch.global.iter().filter_map(|global| global.action.claim());
        claiming.map(ParkedClaim::max).sum::<usize>().min(self.limits.claim_tasks)
    }

    /// The reads of a batch are answered: builds its turns.
    pub(super) fn fetched(&mut self, number: u64, fetched: Result<Fetched, store::Error>) {
        let mut batch = self.batches.take(number);
        let mut fetched = match fetched {
            Ok(fetched) => fetched,
            Err(error) => {
                self.give_up(batch, &error);
                return;
            }
        };
        let rows = batch.tasks.iter().copied().zip(std::mem::take(&mut fetched.tasks));
        let mut tasks = std::mem::take(&mut batch.cached_tasks);
        tasks.extend(rows.filter_map(|(id, row)| Some((id, row?))));
        let wanted = batch.wanted.iter().map(|wanted| wanted.id);
        let mut instances: BTreeMap<InstanceId, store::FetchedInstance> =
            wanted.zip(std::mem::take(&mut fetched.instances)).collect();
        self.drop_closed(&mut batch, &fetched.incidents);
        let has_new_damage =
            self.tasks_damaged(&mut batch, std::mem::take(&mut fetched.damaged_tasks));
        let mut jobs = Vec::new();
        self.drop_overtaken(&mut batch, &mut instances);
        let comes_with_turn = |index: usize| batch.computed.iter().any(|(it, _)| *it == index);
        let fresh: Vec<usize> =
            (0..batch.entries.len()).filter(|index| !comes_with_turn(*index)).collect();
        for index in fresh {
            let read = instances.remove(&batch.entries[index].id).unwrap_or_default();
            if let Some(job) = self.build_turn(&mut batch, index, read, &tasks) {
                batch.jobs.push(index);
                jobs.push(job);
            }
        }
        let claimed = std::mem::take(&mut fetched.claims);
        let incidents = std::mem::take(&mut fetched.incidents);
        // Damaged tasks counted against the limit of the query, so the claims may have missed good
        // ones.
        self.global_units(&mut batch, &tasks, claimed, incidents, has_new_damage);
        if has_new_damage {
            batch.repeat_claims();
        }
        batch.fetched = fetched;
        self.batches.put_back(number, batch);
        if jobs.is_empty() {
            self.advanced(number, Vec::new());
        } else {
            self.output(Output::Advance(number, jobs));
        }
    }

    /// Drops slow turns whose instance was changed or locked by another node, or was damaged: they
    /// are computed again. Only on a shared store; elsewhere no other node can change a row.
    fn drop_overtaken(
        &mut self,
        batch: &mut Batch,
        instances: &mut BTreeMap<InstanceId, store::FetchedInstance>,
    ) {
        if !self.config.shared_store {
            return;
        }
        for (index, _) in &batch.computed {
            let entry = &mut batch.entries[*index];
            // A start has no row yet that could be another one.
            let Some(builder) = entry.builder.as_ref().filter(|it| !it.insert) else { continue };
            let read = instances.remove(&entry.id).unwrap_or_default();
            // A row or event that cannot be decoded is handled by the new turn, which puts the
            // instance into quarantine.
            let is_other =
                read.damage.is_some() || !builder.stands_on(read.row.as_ref(), &read.inbox);
            if read.busy || is_other {
                self.counters.conflicts += 1;
                self.start_over(entry);
            }
        }
    }

    /// Answers the callers of incidents that were closed after they were looked up.
    fn drop_closed(&mut self, batch: &mut Batch, open: &[Option<store::IncidentRow>]) {
        let open: BTreeSet<IncidentId> = open.iter().flatten().map(|row| row.id).collect();
        let is_closed = |it: &PendingItem| it.item.incident().is_some_and(|id| !open.contains(&id));
        // Entries with a computed turn were checked by their first batch.
        for entry in batch.entries.iter_mut().filter(|entry| entry.builder.is_none()) {
            for pending in entry.items.extract_if(.., |pending| is_closed(pending)) {
                if let (Some(id), Some(ticket)) = (pending.item.incident(), pending.ticket) {
                    self.outputs.push_back(Output::Reply(ticket, Err(Error::UnknownIncident(id))));
                }
            }
        }
    }

    pub(super) fn env<'a>(&'a mut self, tasks: &'a BTreeMap<TaskId, TaskRow>) -> TurnEnv<'a> {
        TurnEnv {
            ids: &mut self.ids,
            limits: &self.limits,
            now: self.now,
            epoch: self.epoch,
            node_index: self.config.shared_store.then_some(self.cluster.node_index()),
            counters: &mut self.counters,
            tasks,
            definitions: &self.definitions,
        }
    }

    /// The most events of the next turn: after a fault they are tried one by one.
    fn events_in_turn(&self, id: InstanceId) -> usize {
        match self.mailboxes.get(id) {
            Some(mailbox) if mailbox.solo > 0 => 1,
            _ => self.limits.events_per_turn,
        }
    }

    /// Builds one turn; returns the job for its notation, if one is needed.
    fn build_turn(
        &mut self,
        batch: &mut Batch,
        index: usize,
        read: store::FetchedInstance,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) -> Option<Job> {
        let (mut builder, inbox) = self.open_turn(batch, index, read, tasks)?;
        let Some(loaded) = self.definitions.get(builder.row.definition).cloned() else {
            self.wait_for_definition(batch, index, builder.row, !inbox.is_empty());
            return None;
        };
        if let Loaded::Ready { notation, definition, .. } = &loaded {
            batch.entry_mut(index).runnable = Some((notation.clone(), definition.clone()));
        }
        builder.awaited = batch.entry_mut(index).is_awaited(Wait::Idle);
        builder.end_awaited = batch.entry_mut(index).is_awaited(Wait::Ended);
        let builder = self.collect_events(batch, index, builder, inbox, tasks)?;
        let builder = self.prepare_start(batch, index, builder, tasks)?;
        if builder.start.is_none() && builder.events.is_empty() {
            batch.add_turn(index, builder);
            return None;
        }
        match loaded {
            Loaded::Ready { notation, definition, version } => {
                let runs = (notation, definition, version);
                let job = job(&builder, runs, self.now.engine, &self.limits);
                batch.entry_mut(index).builder = Some(builder);
                Some(job)
            }
            Loaded::Broken => {
                let text = "the definition cannot be loaded by this release";
                let fault = Fault::new("definition_unloadable", text);
                let mut env = self.env(tasks);
                let turn_result = builder.finish_turn(Err(fault), None, &mut env);
                self.add_turn_result(batch, index, turn_result);
                None
            }
        }
    }

    /// The builder of a turn and the inbox it takes its events from; none if the instance has no
    /// turn now: another node has locked it, it is damaged, or it has ended.
    fn open_turn(
        &mut self,
        batch: &mut Batch,
        index: usize,
        read: store::FetchedInstance,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) -> Option<(Box<TurnBuilder>, Vec<InboxRow>)> {
        let entry = batch.entry_mut(index);
        if read.busy {
            let (id, inbox) = (entry.id, entry.inbox);
            let items = std::mem::take(&mut entry.items);
            self.requeue(id, items, inbox, true);
            self.wait_for_lock(id);
            return None;
        }
        let row = entry.cached.take().or(read.row);
        if let Some(damage) = read.damage {
            self.handle_damaged(batch, index, row, &read.inbox, &damage, tasks);
            return None;
        }
        let mut env = self.env(tasks);
        let started =
            entry.items.first().and_then(|item| TurnBuilder::of_start(entry.id, item, &mut env));
        let builder = match (started, row) {
            (Some(started), _) => Box::new(started),
            (None, Some(row)) if !row.phase.is_ended() => {
                let original = self.config.shared_store.then(|| Box::new(row.clone()));
                let mut builder = Box::new(TurnBuilder::new(row, false));
                builder.original = original;
                builder
            }
            (None, row) => {
                self.answer_ended(batch, index, row, read.inbox, tasks);
                return None;
            }
        };
        self.mailboxes.of_batch(builder.row.id).definition = builder.row.definition;
        Some((builder, read.inbox))
    }

    /// Takes the events of a turn; none if the instance is ended without them.
    fn collect_events(
        &mut self,
        batch: &mut Batch,
        index: usize,
        mut builder: Box<TurnBuilder>,
        inbox: Vec<InboxRow>,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) -> Option<Box<TurnBuilder>> {
        let limit = self.events_in_turn(builder.row.id);
        builder.more_inbox = inbox.len() >= self.limits.events_per_turn;
        let cancel_event = cancel_in(&inbox);
        let cancel = self.slow.take_cancel(builder.row.id);
        let entry = batch.entry_mut(index);
        let mut env = self.env(tasks);
        let now = env.now.engine;
        let overtakes = cancel.and_then(|_| builder.collect_cancel(&inbox, &entry.items, now));
        if let Some(event) = overtakes {
            if cancel == Some(true) || matches!(builder.row.phase, Phase::Starting | Phase::Closing)
            {
                self.end_by_kernel(batch, index, builder, &event, tasks);
                return None;
            }
        } else if builder.insert {
            builder.deferred.extend(1..entry.items.len());
        } else {
            builder.collect(inbox, &entry.items, limit, &mut env);
        }
        if builder.has_no_start {
            let damage = "its start cannot be decoded";
            self.end_or_quarantine(batch, index, builder.row, cancel_event, damage, tasks);
            return None;
        }
        Some(builder)
    }

    /// Fixes the deadline of an instance that starts; none if that has passed already, or if the
    /// instance was cancelled before.
    fn prepare_start(
        &mut self,
        batch: &mut Batch,
        index: usize,
        mut builder: Box<TurnBuilder>,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) -> Option<Box<TurnBuilder>> {
        if builder.start.is_none() {
            return Some(builder);
        }
        let runnable = batch.entry_mut(index).runnable.as_ref();
        let definition = runnable.map(|(_, definition)| &**definition);
        builder.note_message_start(definition);
        let env = self.env(tasks);
        builder.fix_deadline(definition, env.limits);
        if let Some(end) = builder.end_before_start(env.now.engine) {
            self.end_by_kernel(batch, index, builder, &end, tasks);
            return None;
        }
        Some(builder)
    }

    /// Ends an instance without calling its notation.
    fn end_by_kernel(
        &mut self,
        batch: &mut Batch,
        index: usize,
        builder: Box<TurnBuilder>,
        event: &Event,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) {
        let runnable = batch.entry_mut(index).runnable.clone();
        let mut env = self.env(tasks);
        let turn_result = builder.end_by_kernel(event, runnable.as_ref(), &mut env);
        self.add_turn_result(batch, index, turn_result);
    }

    /// The definition is not in memory: the items are queued again until it is.
    fn wait_for_definition(
        &mut self,
        batch: &mut Batch,
        index: usize,
        row: InstanceRow,
        had_inbox: bool,
    ) {
        let (id, definition) = (row.id, row.definition);
        let goes_on = matches!(row.phase, Phase::Starting | Phase::Yielding);
        let entry = batch.entry_mut(index);
        let items = std::mem::take(&mut entry.items);
        if row.turn_no > 0
            || goes_on && !items.iter().any(|it| matches!(it.item, MailboxItem::Start(..)))
        {
            self.memory.keep(row);
        }
        self.requeue(id, items, had_inbox || entry.inbox, goes_on);
        self.mailboxes.of_batch(id).waits_for_definition = true;
        self.definitions.wait(definition, id);
        if self.definitions.wants(definition) {
            self.output(Output::LoadDefinition(definition));
        }
    }

    /// The turns of a batch are computed: makes its plan.
    pub(super) fn advanced(&mut self, number: u64, turns: ComputedTurns) {
        if self.batches.waits_for_timers(number) {
            self.batches.hold(number, turns);
            return;
        }
        let mut batch = self.batches.take(number);
        if batch.lease_term != self.cluster.lease_term() {
            // The lease was lost since the batch began. Another process may have held the same node
            // number and used the sequence numbers that this plan would assign (I5). Nothing was
            // written.
            let lost = store::Error::Unavailable("the node has lost its lease".to_owned());
            return self.give_up(batch, &lost);
        }
        let no_tasks = BTreeMap::new();
        let jobs = std::mem::take(&mut batch.jobs);
        let computed = std::mem::take(&mut batch.computed);
        let mut fresh = Vec::new();
        for (job, (index, turn)) in jobs.into_iter().zip(turns).enumerate() {
            match turn {
                Some(turn) => fresh.push((index, turn)),
                None => {
                    let entry = batch.take_slow(index);
                    self.detach_slow_turn(entry, number, job, batch.lease_term);
                }
            }
        }
        for (index, turn) in &fresh {
            let entry = &batch.entries[*index];
            self.weights.saw(entry.definition_id(), entry.class, effects(turn));
        }
        self.defer_heavy_turns(&mut batch, &mut fresh, &computed);
        batch.effects = fresh.iter().chain(&computed).map(|(_, turn)| effects(turn)).sum();
        for (index, turn) in computed.into_iter().chain(fresh) {
            let entry = batch.entry_mut(index);
            // Stale: another node came before this turn ([`Self::drop_overtaken`] has counted it).
            let Some(builder) = entry.builder.take() else { continue };
            let runnable = entry.runnable.clone();
            let mut env = self.env(&no_tasks);
            let turn_result = builder.finish_turn(turn, runnable.as_ref(), &mut env);
            self.add_turn_result(&mut batch, index, turn_result);
        }
        self.hand_off(&mut batch);
        self.make_units(&mut batch);
        if is_injected(InjectedBug::AnswerBeforeCommit) {
            self.answer_early(&mut batch);
        }
        if is_injected(InjectedBug::DispatchBeforeCommit) {
            self.apply_cache_updates_early(&mut batch);
        }
        let fetched = std::mem::take(&mut batch.fetched);
        if batch.units.is_empty() {
            self.finish_batch(batch, Vec::new());
            return;
        }
        let units = std::mem::take(&mut batch.units);
        batch.commit = self.batches.number_commit();
        let (now, lease_term) = (self.now.engine, self.cluster.lease_term());
        let plan = Plan { batch: batch.commit, now, units, lease_term };
        self.batches.put_back(number, batch);
        self.output(Output::Commit(number, fetched, plan));
    }

    /// Moves the heaviest turns to later batches if one commit would have too many effects.
    fn defer_heavy_turns(
        &mut self,
        batch: &mut Batch,
        fresh: &mut Vec<(usize, Result<Turn, Fault>)>,
        joined: &[(usize, Result<Turn, Fault>)],
    ) {
        let all: usize = fresh.iter().chain(joined).map(|(_, turn)| effects(turn)).sum();
        let limit = batch.effects_limit();
        if all <= limit {
            return;
        }
        let mut left = limit;
        for (_, turn) in joined {
            left = left.saturating_sub(effects(turn));
        }
        let mut by_weight: Vec<usize> = (0..fresh.len()).collect();
        by_weight.sort_by_key(|number| effects(&fresh[*number].1));
        let mut heavy = BTreeSet::new();
        let mut stays = !joined.is_empty();
        for number in by_weight {
            let weight = effects(&fresh[number].1);
            if weight > left && stays {
                heavy.insert(fresh[number].0);
            }
            stays = true;
            left = left.saturating_sub(weight);
        }
        for (index, turn) in fresh.extract_if(.., |(index, _)| heavy.contains(index)) {
            let entry = batch.take_slow(index);
            self.defer_turn(entry, turn, batch.lease_term);
        }
    }

    pub(super) fn add_turn_result(
        &mut self,
        batch: &mut Batch,
        index: usize,
        turn_result: TurnResult,
    ) {
        match turn_result {
            TurnResult::Unit(builder) => batch.add_turn(index, builder),
            TurnResult::Nothing(builder) => {
                batch.entry_mut(index).builder = Some(builder);
            }
            TurnResult::OneByOne => {
                let entry = batch.entry_mut(index);
                let (id, inbox) = (entry.id, entry.inbox);
                let items = std::mem::take(&mut entry.items);
                let solo = items.len() + self.limits.events_per_turn.min(2);
                self.requeue(id, items, inbox, true);
                self.mailboxes.of_batch(id).solo = solo;
            }
        }
    }

    /// Makes the units of all turns together with the commit number: sequence numbers of history
    /// are then assigned in the order in which they become visible, so a reader can follow the
    /// history by number.
    fn make_units(&mut self, batch: &mut Batch) {
        let no_tasks = BTreeMap::new();
        let mut env = self.env(&no_tasks);
        for index in std::mem::take(&mut batch.turns) {
            let builder = batch.entry_mut(index).builder.as_mut();
            let builder = builder.expect("a turn has its builder until its batch is finished");
            // Nothing to write: its events changed nothing.
            let Some((unit, row)) = builder.finish(&mut env) else { continue };
            let cache_updates = cache_updates(&unit.writes, row.definition);
            batch.add_unit(unit, UnitOrigin::Turn(index, row, cache_updates));
        }
    }

    pub(super) fn reply(&mut self, ticket: Option<Ticket>, answer: Result<Reply, Error>) {
        if let Some(ticket) = ticket {
            self.output(Output::Reply(ticket, answer));
        }
    }

    /// Queues items again in their order, before newer ones.
    pub(super) fn requeue(
        &mut self,
        id: InstanceId,
        items: Vec<PendingItem>,
        inbox: bool,
        goes_on: bool,
    ) {
        for item in items.into_iter().rev() {
            self.mailboxes.push_first(id, item);
        }
        let mailbox = self.mailboxes.open(id);
        mailbox.durable |= inbox;
        mailbox.goes_on |= goes_on;
    }
}

fn job(
    builder: &TurnBuilder,
    (notation, definition, version): (Arc<dyn meantime_core::Notation>, Arc<Definition>, u32),
    now: meantime_core::Timestamp,
    limits: &Arc<meantime_core::Limits>,
) -> Job {
    let row = &builder.row;
    let kind = match &builder.start {
        Some(start) => JobKind::Start(start.clone()),
        None => JobKind::Advance(row.state.clone(), builder.events.clone()),
    };
    let catches = row.meta.lineage.as_ref().map_or_else(Vec::new, |it| it.catches.clone());
    Job {
        notation,
        definition,
        kind,
        now,
        turn_no: row.turn_no + 1,
        instance: row.id,
        definition_id: row.definition,
        version,
        started_at: row.started_at,
        deadline: row.open.deadline(),
        key: row.key.clone(),
        catches,
        limits: limits.clone(),
        ops: row.meta.ops,
    }
}
