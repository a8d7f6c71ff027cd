//! Builds one turn: from a row, its inbox and its pending items to the events of the turn.
//!
//! Order: a deadline that has passed comes first (D4, T10); then inbox rows and pending items by
//! time, and due timers at their due time. The kernel handles here what needs no notation: stale
//! timers, tokens, subscriptions that are gone, and ended instances.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_core::{
    Answer, Channel, Definition, EffectKey, Event, Failure, IncidentId, InstanceId, Limits,
    SCHEDULE_CONFLICT, Start, StartCause, TaskCause, TaskId, TaskOutcome, TimerId, Timestamp,
    Trigger,
};
use sha2::{Digest as _, Sha256};

use super::definitions::{Definitions, Loaded};
use super::effect::accept;
use super::io::Counters;
use super::mailbox::{MailboxItem, PendingItem};
use super::suspend::has_suspending;
use crate::clock::Now;
use crate::command::{Error, Reply, StartCommand};
use crate::fault_injection::{InjectedBug, is_injected};
use crate::history::{AuditInfo, CancelCause, Record};
use crate::open::{Key, OpenSubscription, OpenTimer};
use crate::random::Ids;
use crate::store::{
    AnswerRow, ChannelKey, ChannelKind, ConditionalWrite, InboxRow, InstanceMeta, InstanceRow,
    MessageRow, NodeIndex, Phase, Precondition, StartedBy, TaskRow, TimerKey, TimerKind, TimerRow,
    Write,
};

/// The parts of the machine that a turn builder uses.
pub(super) struct TurnEnv<'a> {
    pub(super) ids: &'a mut Ids,
    pub(super) limits: &'a Arc<Limits>,
    pub(super) now: Now,
    pub(super) epoch: u32,
    /// The node's index, if it shares the store.
    pub(super) node_index: Option<NodeIndex>,
    pub(super) counters: &'a mut Counters,
    pub(super) tasks: &'a BTreeMap<TaskId, TaskRow>,
    pub(super) definitions: &'a Definitions,
}

impl TurnEnv<'_> {
    /// Whether an instance runs a built-in definition, such as that of schedules.
    pub(super) fn is_system(&self, row: &InstanceRow) -> bool {
        match self.definitions.get(row.definition) {
            Some(Loaded::Ready { definition, .. }) => definition.system,
            Some(Loaded::Broken) | None => false,
        }
    }

    /// The name of an instance's definition.
    pub(super) fn name_of(&self, row: &InstanceRow) -> String {
        self.definitions.name(row.definition).unwrap_or_default().to_owned()
    }
}

/// One turn while it is built, and later the unit that it becomes.
#[derive(Debug)]
pub(super) struct TurnBuilder {
    /// The row as it will be written.
    pub(super) row: InstanceRow,
    /// The row as it was read, on a store where other nodes may change it.
    pub(super) original: Option<Box<InstanceRow>>,
    /// The turn number that the row in the store must still have.
    pub(super) expected: u64,
    /// Whether the row is new.
    pub(super) insert: bool,
    /// Whether the row changed.
    pub(super) touched: bool,
    /// The start to run, if this is the first turn.
    pub(super) start: Option<Start>,
    /// Events for the notation, and the source of each.
    pub(super) events: Vec<Event>,
    pub(super) sources: Vec<EventSource>,
    pub(super) preconditions: Vec<Precondition>,
    pub(super) writes: Vec<Write>,
    pub(super) conditional_writes: Vec<ConditionalWrite>,
    pub(super) records: Vec<Record>,
    /// Answers for pending items, by their index.
    pub(super) answers: BTreeMap<usize, Result<Reply, Error>>,
    /// Incidents that operators resolve in this turn, if the notation takes the resolution.
    pub(super) resolving: BTreeMap<IncidentId, AuditInfo>,
    /// Indexes of pending items that wait for the next turn.
    pub(super) deferred: Vec<usize>,
    /// Whether the store has, or will have, further events for this instance.
    pub(super) more_inbox: bool,
    /// The instance was accepted, but its stored start cannot be decoded.
    pub(super) has_no_start: bool,
    /// Tasks that this turn has changed, or `None` for those it has ended: later items of the turn
    /// must see the change.
    pub(super) changed: BTreeMap<TaskId, Option<TaskRow>>,
    /// Subscriptions and number of children before the turn. If an event of the turn faults and is
    /// held, they are restored, so that a retry finds the wait that the event answers.
    before: (BTreeMap<Key, OpenSubscription>, u32),
    /// How many effects and outcomes of this turn found their target ended.
    pub(super) stale: u64,
    /// Attempt and worker of the tasks that this turn ends, for their records.
    pub(super) reported: BTreeMap<EffectKey, (u32, Option<String>)>,
    /// Whether callers of this node wait until the instance is idle, or until it has ended.
    pub(super) awaited: bool,
    pub(super) end_awaited: bool,
    /// Nodes whose callers wait for the change that this turn makes: idle or ended.
    pub(super) rested: Vec<u8>,
}

/// The source of an event.
#[derive(Debug, Clone)]
pub(super) enum EventSource {
    /// A row of the inbox.
    Inbox(Box<InboxRow>),
    /// A pending item, by its index.
    MailboxItem(usize),
    /// A signal that was never stored.
    Signal(Box<MessageRow>),
    /// The kernel itself.
    Kernel,
}

impl TurnBuilder {
    pub(super) fn new(row: InstanceRow, insert: bool) -> Self {
        Self {
            original: None,
            expected: row.turn_no,
            before: (row.open.subscriptions.clone(), row.open.children),
            row,
            stale: 0,
            reported: BTreeMap::new(),
            awaited: false,
            end_awaited: false,
            rested: Vec::new(),
            insert,
            touched: insert,
            start: None,
            events: Vec::new(),
            sources: Vec::new(),
            preconditions: Vec::new(),
            writes: Vec::new(),
            conditional_writes: Vec::new(),
            records: Vec::new(),
            answers: BTreeMap::new(),
            resolving: BTreeMap::new(),
            deferred: Vec::new(),
            more_inbox: false,
            has_no_start: false,
            changed: BTreeMap::new(),
        }
    }

    /// A task, including the changes of this turn.
    pub(super) fn task(&self, id: TaskId, env: &TurnEnv<'_>) -> Option<TaskRow> {
        self.changed.get(&id).cloned().unwrap_or_else(|| env.tasks.get(&id).cloned())
    }

    /// Changes a task; the write requires that it was not claimed again since it was read.
    pub(super) fn update_task(&mut self, row: TaskRow, claims: u32) {
        self.changed.insert(row.id, Some(row.clone()));
        self.writes.push(Write::UpdateTask { row: Box::new(row), claims });
    }

    /// Ends or cancels a task.
    pub(super) fn delete_task(&mut self, id: TaskId, claims: Option<u32>) {
        self.changed.insert(id, None);
        self.writes.push(Write::DeleteTask { id, claims });
    }

    /// The first turn of an instance that a caller starts.
    pub(super) fn of_start(
        id: InstanceId,
        item: &PendingItem,
        env: &mut TurnEnv<'_>,
    ) -> Option<Self> {
        let MailboxItem::Start(command, definition) = &item.item else { return None };
        let StartCommand {
            input, at, request_bindings, key, deadline_at, tags, idempotency, ..
        } = &**command;
        let restart_of = command.restart.as_ref().map(|restart| restart.of);
        let row = InstanceRow {
            deadline_at: *deadline_at,
            key: key.clone(),
            meta: InstanceMeta { tags: tags.clone(), restart_of, ..InstanceMeta::default() },
            ..InstanceRow::accepted(id, *definition, item.at)
        };
        let mut builder = Self::new(row, true);
        // This precondition is the first: a repeated request must be answered as a repetition, and
        // not with `key_taken` because of the instance that its first attempt has started.
        if let Some(key) = idempotency {
            let keep = i64::try_from(env.limits.idempotency_ms).unwrap_or(i64::MAX);
            builder.preconditions.push(Precondition::NewRequest(AnswerRow {
                key: key.clone(),
                request: request_hash(command),
                instance: id,
                expires_at: env.now.engine.saturating_add_millis(keep),
            }));
        }
        if let Some(key) = key {
            let (definition, key) = (command.definition.clone(), key.clone());
            builder.preconditions.push(Precondition::KeyFree { definition, key });
        }
        if !tags.is_empty() {
            let (instance, tags) = (id, tags.clone());
            builder.writes.push(Write::PutTags { instance, tags, attributes: Vec::new() });
        }
        if let Some(restart) = &command.restart {
            let (name, audit) = ("restart".to_owned(), restart.audit.clone());
            builder.records.push(Record::Command { name, audit });
        }
        let started = Reply::Started { instance: id, repeated: false, row: None };
        builder.answers.insert(0, Ok(started));
        let (cause, input) = (StartCause::Api, input.clone());
        let (at, request_bindings) = (at.clone(), request_bindings.clone());
        builder.start = Some(Start { at, request_bindings, ..Start::new(cause, input) });
        Some(builder)
    }

    /// Sets the deadline in the first turn: declared, requested, inherited, capped (D1, D7).
    pub(super) fn fix_deadline(&mut self, definition: Option<&Definition>, limits: &Limits) {
        let own_budget = self.row.meta.own_budget;
        let execution = definition.and_then(|it| it.execution.as_ref()).filter(|_| !own_budget);
        let capped = definition.is_none_or(|it| !it.system) && !own_budget;
        let accepted = self.row.started_at;
        let after = |span: &meantime_core::time::Span, zone: &meantime_core::time::Zone| {
            span.add_to(accepted, zone).unwrap_or(Timestamp::MAX)
        };
        let utc = meantime_core::time::Zone::utc();
        let declared = execution.map(|it| after(&it.max_duration, &it.zone));
        let mut deadline = [self.row.deadline_at, declared].into_iter().flatten().min();
        if deadline.is_none() && capped {
            deadline = limits.default_deadline.as_ref().map(|span| after(span, &utc));
        }
        let cap = limits.deadline_cap.as_ref().filter(|_| capped).map(|span| after(span, &utc));
        deadline = [deadline, cap].into_iter().flatten().min();
        self.row.deadline_at = deadline;
        if let Some(due_at) = deadline
            && !self.row.open.timers.contains_key(&Key::DEADLINE)
        {
            let timer = self.row.id.deadline_timer();
            self.arm(timer, TimerKind::Deadline, "deadline".to_owned(), due_at);
        }
    }

    /// Messages may wait because this instance has their business key. The instance notes the
    /// channels, so that its end offers the next message.
    pub(super) fn note_message_start(&mut self, definition: Option<&Definition>) {
        let (Some(definition), Some(key)) = (definition, &self.row.key) else { return };
        let names = definition.triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Message { name, .. } => Some(name.clone()),
            Trigger::Signal { .. } | Trigger::Timer { .. } => None,
        });
        let names: Vec<String> = names.collect();
        if let Some(name) = names.first().cloned() {
            let audit = StartedBy { name, key: key.clone(), others: Vec::new() };
            let audit = self.row.meta.started_by.get_or_insert(audit);
            audit.others = names.into_iter().filter(|name| *name != audit.name).collect();
        }
    }

    /// Takes inbox rows and pending items in order, up to the limit of a turn.
    pub(super) fn collect(
        &mut self,
        inbox: Vec<InboxRow>,
        items: &[PendingItem],
        limit: usize,
        env: &mut TurnEnv<'_>,
    ) {
        if self.row.phase == Phase::Starting && !self.insert {
            self.begin_accepted(inbox, items, env);
            return;
        }
        if self.deadline_passed(env.now.engine) {
            self.reach_deadline(items);
            self.more_inbox |= !inbox.is_empty();
            return;
        }
        let goes_on = self.row.phase == Phase::Yielding && self.row.meta.may_go_on();
        if goes_on && !has_suspending(items) {
            self.deliver(Event::Continue, EventSource::Kernel);
        }
        let mut stopped = false;
        for candidate in in_order(inbox, items) {
            if is_injected(InjectedBug::DropCoalescedEvent) && self.events.len() >= 2 {
                continue;
            }
            // A cancel is the last event of its turn: the events after it find an ended or closing
            // instance in the next turn.
            if stopped || self.events.len() >= limit {
                match candidate {
                    Candidate::Inbox(_) => self.more_inbox = true,
                    Candidate::MailboxItem(number) => self.deferred.push(number),
                }
                continue;
            }
            match candidate {
                Candidate::Inbox(row) => self.add_inbox(*row, env),
                Candidate::MailboxItem(number) => {
                    let Some(item) = items.get(number) else { continue };
                    // It suspends or resumes between two turns: what came before is taken first,
                    // and what comes after must not overtake the events that waited.
                    stopped = item.item.is_suspending();
                    if stopped && !self.events.is_empty() {
                        self.deferred.push(number);
                        continue;
                    }
                    self.add_item(number, item, env);
                }
            }
            stopped |= matches!(self.events.last(), Some(Event::Cancel { .. }));
        }
        self.hold_events(env);
    }

    /// If a cancel has overtaken a slow turn, it is the first pending item, and the only event of
    /// this turn; all other items wait for the next one. Only a passed deadline comes before it.
    pub(super) fn collect_cancel(
        &mut self,
        inbox: &[InboxRow],
        items: &[PendingItem],
        now: Timestamp,
    ) -> Option<Event> {
        let MailboxItem::Event(event @ Event::Cancel { .. }, audit) = &items.first()?.item else {
            return None;
        };
        if self.insert || self.deadline_passed(now) {
            return None;
        }
        self.more_inbox |= !inbox.is_empty();
        self.deferred.extend(1..items.len());
        self.note_command(event, audit.as_ref());
        self.deliver(event.clone(), EventSource::MailboxItem(0));
        Some(event.clone())
    }

    /// Whether the store still contains everything that this turn was built from: the row, and the
    /// inbox rows that it takes. The turn number alone does not tell: edits of timers and incidents
    /// change the row and keep the number.
    pub(super) fn stands_on(&self, row: Option<&InstanceRow>, inbox: &[InboxRow]) -> bool {
        let has = |seq: u64| inbox.iter().any(|row| row.seq == seq);
        let taken = self.sources.iter().filter_map(|source| match source {
            EventSource::Inbox(row) => Some(row.seq),
            _ => None,
        });
        let dropped = self.writes.iter().filter_map(|write| match write {
            Write::DeleteInbox { seq, .. } => Some(*seq),
            _ => None,
        });
        row == self.original.as_deref() && taken.chain(dropped).all(has)
    }

    pub(super) fn deliver(&mut self, event: Event, source: EventSource) {
        self.events.push(event);
        self.sources.push(source);
    }

    pub(super) fn answer(&mut self, number: usize, answer: Result<Reply, Error>) {
        self.answers.insert(number, answer);
    }

    /// Arms a timer: open list, row and record.
    pub(super) fn arm(&mut self, id: TimerId, kind: TimerKind, element: String, due_at: Timestamp) {
        let (key, definition) = (id.0, self.row.definition);
        let frozen = self.freezes_new_timer(Key::from(key));
        self.row.open.timers.insert(Key::from(key), OpenTimer { due_at, kind, frozen });
        self.records.push(Record::TimerArmed { key, kind, element: element.clone(), due_at });
        let row = TimerRow { id, due_at, frozen, kind, definition, element };
        self.writes.push(Write::InsertTimer(row));
        self.touched = true;
    }

    /// Removes a timer that will not fire. Returns whether it was armed.
    pub(super) fn disarm(&mut self, key: Key, cause: CancelCause) -> bool {
        // Most tasks have no deadline. A timer may also have fired or been cancelled, perhaps
        // earlier in this turn (ADR 0004); an effect that cancels it is stale then.
        let Some(timer) = self.row.open.timers.remove(&key) else { return false };
        self.row.open.fired_by.remove(&key);
        let (key, kind, due_at) = (key.of(self.row.id), timer.kind, timer.due_at);
        self.writes.push(Write::DeleteTimer(timer.row_key(key)));
        self.records.push(Record::TimerCancelled { key, kind, due_at, cause });
        self.touched = true;
        true
    }

    /// An event of this turn is held: the subscription or child that it answers stays open.
    pub(super) fn restore_waiters(&mut self) {
        let (subscriptions, children) = self.before.clone();
        (self.row.open.subscriptions, self.row.open.children) = (subscriptions, children);
    }

    /// Whether the deadline has passed. A closing instance has no deadline any more (D8).
    fn deadline_passed(&self, now: Timestamp) -> bool {
        self.row.phase != Phase::Closing && self.row.open.deadline().is_some_and(|due| due <= now)
    }

    /// The deadline comes before everything else and is the only event of its turn (T10, D4).
    fn reach_deadline(&mut self, items: &[PendingItem]) {
        let key = self.row.id.deadline_timer().0;
        self.fire(key);
        self.deliver(Event::DeadlineReached, EventSource::Kernel);
        let is_deadline =
            |item: &MailboxItem| matches!(item, MailboxItem::Timer(it) if it.id.0 == key);
        self.deferred.extend((0..items.len()).filter(|number| !is_deadline(&items[*number].item)));
    }

    /// Fires a timer of the open list: its row is deleted in the same commit (I1, T6).
    pub(super) fn fire(&mut self, key: meantime_core::EffectKey) -> Option<OpenTimer> {
        let timer = self.row.open.timers.remove(&Key::from(key))?;
        let audit = self.row.open.fired_by.remove(&Key::from(key));
        let (kind, due_at) = (timer.kind, timer.due_at);
        self.writes.push(Write::DeleteTimer(timer.row_key(key)));
        self.records.push(Record::TimerFired { key, kind, due_at, audit });
        self.touched = true;
        Some(timer)
    }

    /// The first turn of an instance that an earlier commit has accepted.
    fn begin_accepted(
        &mut self,
        inbox: Vec<InboxRow>,
        items: &[PendingItem],
        env: &mut TurnEnv<'_>,
    ) {
        if self.row.meta.held.is_none() {
            self.start = minicbor::decode(&self.row.state.bytes).ok();
            self.has_no_start = self.start.is_none();
            self.deferred.extend(0..items.len());
            self.more_inbox = !inbox.is_empty();
            // An instance that was cancelled before its first turn ends without running it.
            // Otherwise a definition that starts itself would create children faster than
            // cancelling removes them.
            let is_cancel = |row: &InboxRow| matches!(row.event, Event::Cancel { .. });
            if let Some(row) = inbox.into_iter().find(is_cancel) {
                self.deliver(row.event.clone(), EventSource::Inbox(Box::new(row)));
            }
            return;
        }
        if self.deadline_passed(env.now.engine) {
            self.more_inbox = !inbox.is_empty();
            self.reach_deadline(items);
            return;
        }
        // Its start faulted, and an incident holds it. Cancels, deadlines, edits and the answer to
        // the incident are still processed; other commands are rejected with the reason.
        for row in inbox {
            if matches!(row.event, Event::Cancel { .. }) && self.events.is_empty() {
                self.deliver(row.event.clone(), EventSource::Inbox(Box::new(row)));
            } else {
                self.put_back(row, env);
            }
        }
        for (number, item) in items.iter().enumerate() {
            match &item.item {
                MailboxItem::Incident { .. } | MailboxItem::Edit { .. } | MailboxItem::Timer(_) => {
                    self.add_item(number, item, env);
                }
                MailboxItem::Event(event @ Event::Cancel { .. }, audit)
                    if self.events.is_empty() =>
                {
                    self.note_command(event, audit.as_ref());
                    self.deliver(event.clone(), EventSource::MailboxItem(number));
                }
                MailboxItem::Event(Event::Cancel { .. }, _) | MailboxItem::Await => {}
                _ => {
                    let text = "the instance could not start; see its incident";
                    self.answer(number, Err(Error::Invalid(text.to_owned())));
                }
            }
        }
    }

    /// The event that ends an instance before its first turn: its deadline has passed (D3), or it
    /// was cancelled.
    pub(super) fn end_before_start(&self, now: Timestamp) -> Option<Event> {
        let deadline = self.deadline_passed(now).then_some(Event::DeadlineReached);
        deadline.or_else(|| self.events.first().cloned())
    }

    fn add_inbox(&mut self, row: InboxRow, env: &mut TurnEnv<'_>) {
        let closing = self.row.phase == Phase::Closing;
        match &row.event {
            Event::Signal { key, .. } | Event::Message { key, .. } => {
                let waiter = self.row.open.subscriptions.remove(&Key::from(*key));
                if waiter.is_none() || closing {
                    // Stale: the subscription ended after the message was matched with it. The
                    // message returns to its channel under its old number, so the next waiting
                    // instance gets it in order.
                    self.put_back(row, env);
                    return;
                }
            }
            // A conflict of a schedule: it is no child and was not counted as one.
            Event::EffectDone { answer: Answer::Conflict { code }, .. }
                if code.starts_with(SCHEDULE_CONFLICT) => {}
            Event::ChildDone { .. } | Event::EffectDone { answer: Answer::Conflict { .. }, .. } => {
                self.row.open.children = self.row.open.children.saturating_sub(1);
            }
            Event::DeadlineMoved { from, to, actor, reason } => {
                let audit = AuditInfo { actor: actor.clone(), reason: reason.clone() };
                self.deadline_moved(*from, *to, &audit, env);
                self.writes.push(Write::DeleteInbox { instance: row.instance, seq: row.seq });
                return;
            }
            // It is ending already.
            Event::Cancel { .. } if closing => {
                self.writes.push(Write::DeleteInbox { instance: row.instance, seq: row.seq });
                return;
            }
            _ => {}
        }
        self.touched = true;
        self.deliver(row.event.clone(), EventSource::Inbox(Box::new(row)));
    }

    /// Returns a message that was not taken to its channel, and removes it from the inbox.
    pub(super) fn put_back(&mut self, row: InboxRow, env: &mut TurnEnv<'_>) {
        self.writes.push(Write::DeleteInbox { instance: row.instance, seq: row.seq });
        if let Some(message) = row.origin {
            env.counters.returned += 1;
            let (definition, accept) = (env.name_of(&self.row), accept(1, env));
            self.conditional_writes.push(ConditionalWrite::Return {
                message,
                definition,
                waiter: None,
                accept,
            });
        }
    }

    fn add_item(&mut self, number: usize, item: &PendingItem, env: &mut TurnEnv<'_>) {
        let ended = || Err(Error::InstanceEnded(self.row.id));
        let closing = self.row.phase == Phase::Closing;
        match &item.item {
            MailboxItem::Start(..) | MailboxItem::Await => {}
            // It is ending already: cancelling it again is no error.
            MailboxItem::Event(Event::Cancel { .. }, _) if closing => {}
            MailboxItem::Event(..) | MailboxItem::Signal { .. } | MailboxItem::Suspending(..)
                if closing =>
            {
                let answer = ended();
                self.answer(number, answer);
            }
            MailboxItem::Event(Event::Submitted { .. }, _) if self.suspended().is_some() => {
                let answer = self.suspended().map_or(Ok(Reply::Done), Err);
                self.answer(number, answer);
            }
            MailboxItem::Event(event, audit) => {
                self.note_command(event, audit.as_ref());
                self.deliver(event.clone(), EventSource::MailboxItem(number));
            }
            MailboxItem::Suspending(what, audit) => {
                self.suspend_or_resume(number, *what, audit, env);
            }
            MailboxItem::Signal { name, payload } => {
                let channel = ChannelKey::signal(self.row.id, name);
                let (seq, payload) = (env.ids.next(env.now.engine), payload.clone());
                let had = Vec::new();
                let message = MessageRow { channel, seq, payload, expires_at: None, had };
                self.add_signal(message, env);
            }
            MailboxItem::Timer(key) => self.add_timer(*key, env),
            MailboxItem::Report { task, .. }
            | MailboxItem::OperatorReport { task, .. }
            | MailboxItem::LeaseExpired(task)
            | MailboxItem::AttemptTimedOut(task) => {
                self.add_report(number, *task, &item.item, env);
            }
            MailboxItem::Edit { timer, edit, audit } => {
                self.take_over_timer(*timer, *edit, audit);
                self.edit_timer(number, *timer, *edit, audit, env);
            }
            MailboxItem::Incident { row, variables, audit } => {
                self.answer_incident(number, row, variables.as_ref(), audit, env);
            }
        }
    }

    pub(super) fn note_command(&mut self, event: &Event, audit: Option<&AuditInfo>) {
        if let Some(audit) = audit {
            let name = match event {
                Event::Submitted { step, .. } => step.clone(),
                _ => event.name().to_owned(),
            };
            self.records.push(Record::Command { name, audit: audit.clone() });
        }
    }

    /// Gives a signal to the subscription that waits for it, or keeps it.
    fn add_signal(&mut self, message: MessageRow, env: &mut TurnEnv<'_>) {
        let name = &message.channel.name;
        let waits =
            |channel: &Channel| matches!(channel, Channel::Signal { name: it } if it == name);
        let waiter = self.row.open.subscriptions.iter().find(|(_, it)| waits(&it.channel));
        if let Some(key) = waiter.map(|(key, _)| *key) {
            self.row.open.subscriptions.remove(&key);
            let (name, payload) = (name.clone(), message.payload.clone());
            let event = Event::Signal { key: key.of(self.row.id), name, payload };
            self.deliver(event, EventSource::Signal(Box::new(message)));
        } else {
            self.keep_signal(message, env);
        }
    }

    /// Keeps a signal for later, under its number.
    pub(super) fn keep_signal(&mut self, message: MessageRow, env: &mut TurnEnv<'_>) {
        // The flag is written once, so that ending the instance knows whether signals must be
        // deleted.
        self.touched |= !self.row.meta.signals;
        self.row.meta.signals = true;
        let (definition, accept) = (env.name_of(&self.row), accept(0, env));
        self.conditional_writes.push(ConditionalWrite::Return {
            message,
            definition,
            waiter: None,
            accept,
        });
    }

    /// Fires a due timer, unless it is stale. The timer was queued from a row; the open list
    /// decides (ADR 0004).
    fn add_timer(&mut self, due: TimerKey, env: &mut TurnEnv<'_>) {
        let key = due.id.0;
        let armed = self.row.open.timers.get(&Key::from(key)).copied();
        let fires = armed.is_some_and(|timer| {
            let is_due = timer.due_at <= env.now.engine || is_injected(InjectedBug::FireEarly);
            !timer.frozen && timer.due_at == due.due_at && is_due
        });
        if !fires {
            // Stale: the timer has fired or was cancelled, moved or frozen since it was queued. It
            // only counts (T9). A moved or released timer has been queued again under its new key,
            // so nothing is lost.
            env.counters.stale_fires += 1;
            return;
        }
        env.counters.fired += 1;
        let late = env.now.engine.saturating_since(due.due_at);
        env.counters.lateness_ms.observe(u64::try_from(late).unwrap_or_default());
        self.fire(key);
        match armed.map(|timer| timer.kind) {
            Some(TimerKind::TaskDeadline) => {
                let failure =
                    Failure::new("TASK_DEADLINE", "the deadline over all attempts has passed");
                let cause = TaskCause::Deadline;
                let outcome = TaskOutcome::Failed { failure, cause, thrown: None };
                self.end_task(TaskId(key), None, outcome, EventSource::Kernel, env);
            }
            _ => self.deliver(Event::TimerFired { key, due_at: due.due_at }, EventSource::Kernel),
        }
    }
}

/// A candidate for an event of the turn.
enum Candidate {
    Inbox(Box<InboxRow>),
    MailboxItem(usize),
}

/// Inbox rows and pending items by time. A due timer counts at its due time and comes before
/// everything else of that instant (T10).
fn in_order(inbox: Vec<InboxRow>, items: &[PendingItem]) -> Vec<Candidate> {
    let inbox = inbox.into_iter().map(|row| {
        let at = rivals(&row, items).min().map_or(row.at, |at| at.min(row.at));
        ((at, 1, None), Candidate::Inbox(Box::new(row)))
    });
    let items = items.iter().enumerate().map(|(number, pending)| {
        let order = match &pending.item {
            MailboxItem::Timer(key) => (key.due_at, 0, Some(*key)),
            _ => (pending.at, 1, None),
        };
        (order, Candidate::MailboxItem(number))
    });
    let mut all: Vec<_> = inbox.chain(items).collect();
    all.sort_by_key(|(order, _)| *order);
    all.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The times of pending signals with the same name as a kept signal that was delivered through the
/// inbox. The kept one was sent before them, so it must be taken before the earliest of them,
/// although it was delivered later.
fn rivals(row: &InboxRow, items: &[PendingItem]) -> impl Iterator<Item = Timestamp> {
    let kept = row.origin.as_ref().map(|message| &message.channel);
    let kept = kept.filter(|channel| channel.kind == ChannelKind::Signal);
    let is_rival = move |pending: &&PendingItem| match &pending.item {
        MailboxItem::Signal { name, .. } => kept.is_some_and(|kept| kept.name == *name),
        _ => false,
    };
    items.iter().filter(is_rival).map(|pending| pending.at)
}

/// Distinguishes a repeated start from a different one with the same idempotency key.
fn request_hash(command: &StartCommand) -> u64 {
    let version = command.version.map_or_else(String::new, |it| it.to_string());
    let deadline_at = command.deadline_at.map_or_else(String::new, |it| it.to_string());
    let deadline = command.deadline_after.as_ref().unwrap_or(&deadline_at);
    let texts = [
        Some(command.definition.as_str()),
        Some(command.input.as_str()),
        command.key.as_deref(),
        Some(&version),
        Some(deadline),
        command.at.as_deref(),
    ];
    let texts = texts.into_iter().chain(command.tags.iter().map(|tag| Some(tag.as_str())));
    let mut hash = Sha256::new();
    for text in texts {
        // The length before each text makes the encoding unambiguous.
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        hash.update(length.to_le_bytes());
        hash.update(text.unwrap_or_default());
    }
    // Eight bytes are enough to tell requests apart, and fit the column.
    hash.finalize().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}
