//! Performs effects: the rows that each writes, its conditional writes and its records.

use meantime_core::{
    Answer, Channel, ChildSpec, DefinitionId, Effect, EffectKey, Event, InstanceId, Json, Message,
    OnExisting, ParentClose, ScheduleSpec, Start, StartCause, TaskId, TaskSpec, TimerId,
};

use super::turn_builder::{TurnBuilder, TurnEnv};
use crate::command::SCHEDULE_INVALID;
use crate::fault_injection::{InjectedBug, is_injected};
use crate::history::{CancelCause, Record};
use crate::open::{Key, OpenSubscription, OpenTask};
use crate::store::{
    Accept, BROADCAST_STARTS, ChannelKey, ChannelKind, ConditionalWrite, InboxRow, InstanceMeta,
    InstanceRow, Lineage, MESSAGE_STARTS, MessageRow, NewChild, OccurrenceRow, SubscriptionRow,
    TaskRow, TimerKind, Write,
};

impl TurnBuilder {
    /// Performs an effect as far as it consists of rows; the rest happens after the commit.
    pub(super) fn perform(&mut self, key: EffectKey, effect: Effect, env: &mut TurnEnv<'_>) {
        self.touched = true;
        match effect {
            Effect::ScheduleTask(spec) => self.schedule_task(key, spec, env),
            Effect::CancelTask { key } => self.cancel_task(Key::from(key), CancelCause::ScopeLeft),
            Effect::StartTimer { element, due_at } => {
                self.arm(TimerId(key), TimerKind::Element, element, due_at);
            }
            Effect::CancelTimer { .. } if is_injected(InjectedBug::ForgetLoser) => {}
            Effect::CancelTimer { key } => {
                let was_armed = self.disarm(Key::from(key), CancelCause::ScopeLeft);
                self.stale += u64::from(!was_armed);
            }
            Effect::Subscribe { channel, .. } => self.subscribe(key, channel, env),
            Effect::Unsubscribe { key } => self.unsubscribe(Key::from(key)),
            Effect::PublishMessage(message) => {
                self.records.push(Record::Published { name: message.name.clone() });
                self.conditional_writes.push(publish(message, env));
            }
            Effect::Broadcast { name, payload } => {
                self.records.push(Record::Published { name: name.clone() });
                self.conditional_writes.push(broadcast(&name, payload, env));
            }
            Effect::StartChild(spec) => self.start_child(key, spec, env),
            Effect::PutSchedule { spec, on_existing } => {
                self.put_schedule(key, &spec, on_existing, env);
            }
            Effect::CancelSchedule { schedule } => {
                let event = Event::Cancel { reason: "cancelled by a definition".to_owned() };
                self.notify(schedule, event, env);
            }
            Effect::Occurrence(occurrence) => {
                let (schedule, instance) = (self.row.id, None);
                let decided_at = env.now.engine;
                let row = OccurrenceRow { schedule, occurrence, instance, decided_at };
                self.writes.push(Write::PutOccurrence(row));
            }
            Effect::CancelChild { key } => self.cancel_child(key, env),
            Effect::NotifyParent { raised } => {
                if let Some(key) = self.row.meta.lineage.as_ref().map(|lineage| lineage.parent) {
                    self.notify(key.instance, Event::ChildRaised { key, raised }, env);
                }
            }
            Effect::SetAttributes(attributes) => {
                let (instance, tags) = (self.row.id, Vec::new());
                self.writes.push(Write::PutTags { instance, tags, attributes });
            }
            Effect::AddTags(tags) => {
                let instance = self.row.id;
                self.row.meta.tags.extend(tags.iter().cloned());
                self.writes.push(Write::PutTags { instance, tags, attributes: Vec::new() });
            }
            Effect::Summary(summary) => self.row.meta.summary = Some(summary),
            Effect::Record { kind, data } => self.records.push(Record::Note { kind, data }),
            Effect::Incident { element, failure } => {
                let cause = crate::store::IncidentCause::Element(key);
                self.raise(cause, element, failure, env);
            }
            Effect::CancelIncident { key } => {
                // It was raised and closed in the same turn, or an operator has resolved it:
                // nothing is open.
                if let Some(id) = self.row.open.incidents.get(&Key::from(key)).copied() {
                    self.close_incident(id, None);
                }
            }
            // A retry has already closed it, with the operator's name.
            Effect::ResolveIncident { incident } if !self.is_closed(incident) => {
                self.close_incident(incident, None);
            }
            Effect::ResolveIncident { .. } => {}
        }
    }

    fn subscribe(&mut self, key: EffectKey, channel: Channel, env: &mut TurnEnv<'_>) {
        let seq = env.ids.next(env.now.engine);
        let row = ChannelKey::of(self.row.id, &channel);
        let open = OpenSubscription { channel, seq };
        self.row.open.subscriptions.insert(Key::from(key), open);
        let definition = env.name_of(&self.row);
        let subscription = SubscriptionRow { channel: row, seq, key, definition };
        let seq = env.ids.next(env.now.engine);
        self.conditional_writes.push(ConditionalWrite::Subscribe { subscription, seq });
    }

    fn put_schedule(
        &mut self,
        key: EffectKey,
        spec: &ScheduleSpec,
        on_existing: OnExisting,
        env: &mut TurnEnv<'_>,
    ) {
        if spec.problem(env.limits).is_some() {
            let answer = Answer::Conflict { code: SCHEDULE_INVALID.to_owned() };
            self.send_to_itself(Event::EffectDone { key, answer }, env);
        } else {
            self.conditional_writes.push(put_schedule(Some(key), spec, on_existing, env));
        }
    }

    fn cancel_child(&mut self, key: EffectKey, env: &mut TurnEnv<'_>) {
        self.conditional_writes.push(ConditionalWrite::CancelChildren {
            instance: self.row.id,
            only: Some(key),
            normal_end: false,
            reason: "cancelled by its parent".to_owned(),
            seq: env.ids.next(env.now.engine),
        });
    }

    /// Sends an event to another instance, if it lives.
    pub(super) fn notify(&mut self, parent: InstanceId, event: Event, env: &mut TurnEnv<'_>) {
        let seq = env.ids.next(env.now.engine);
        self.conditional_writes.push(ConditionalWrite::Notify { parent, event, seq });
    }

    /// Puts an event into the instance's own inbox.
    fn send_to_itself(&mut self, event: Event, env: &mut TurnEnv<'_>) {
        let (instance, at) = (self.row.id, env.now.engine);
        let (seq, origin, held) = (env.ids.next(at), None, None);
        let row = InboxRow { instance, seq, at, event, origin, held };
        self.writes.push(Write::PutInbox(Box::new(row)));
        self.more_inbox = true;
    }

    fn schedule_task(&mut self, key: EffectKey, spec: TaskSpec, env: &mut TurnEnv<'_>) {
        let id = TaskId(key);
        let open = OpenTask { kind: spec.kind, detached: spec.detached };
        self.row.open.tasks.insert(Key::from(key), open);
        self.records.push(Record::TaskScheduled { key, name: spec.name.clone() });
        if let Some(due_at) = spec.deadline_at {
            self.arm(TimerId(key), TimerKind::TaskDeadline, spec.element.clone(), due_at);
        }
        // The remaining budget of the instance limits the task (D3) and is passed on with it (D6).
        let deadline_at = [spec.deadline_at, self.row.open.deadline()].into_iter().flatten().min();
        let row = TaskRow::ready(id, spec, self.row.definition, env.now.engine);
        self.writes.push(Write::InsertTask(Box::new(TaskRow { deadline_at, ..row })));
    }

    /// Cancels a task. Its worker learns it from the answer to its next report.
    pub(super) fn cancel_task(&mut self, key: Key, cause: CancelCause) {
        // Stale: it has ended, perhaps earlier in this turn (ADR 0004).
        if self.row.open.tasks.remove(&key).is_none() {
            self.stale += 1;
            return;
        }
        self.disarm(key, CancelCause::TaskEnded);
        // A task that an incident holds cannot continue without its instance: nobody could retry
        // it.
        let is_held = self.row.open.incidents.contains_key(&key);
        let cause =
            if is_held && cause == CancelCause::Detached { CancelCause::Ended } else { cause };
        let key = key.of(self.row.id);
        self.close_incident_of(key);
        self.records.push(Record::TaskCancelled { key, cause });
        match cause {
            CancelCause::Detached => self.writes.push(Write::DetachTask(TaskId(key))),
            _ => self.delete_task(TaskId(key), None),
        }
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe(&mut self, key: Key) {
        // Stale: a message of this turn has ended it (ADR 0004).
        let Some(open) = self.row.open.subscriptions.remove(&key) else {
            self.stale += 1;
            return;
        };
        let asked = self.conditional_writes.len();
        self.conditional_writes.retain(|conditional| {
            !matches!(conditional, ConditionalWrite::Subscribe { subscription, .. }
                if Key::from(subscription.key) == key)
        });
        if self.conditional_writes.len() < asked {
            // It was subscribed in this turn: nothing has been written yet.
            return;
        }
        let channel = ChannelKey::of(self.row.id, &open.channel);
        if channel.kind != ChannelKind::Signal {
            self.writes.push(Write::DeleteSubscription { channel, seq: open.seq });
        }
    }

    /// Where a child comes from.
    fn lineage_of_child(&self, id: InstanceId, key: EffectKey, spec: &ChildSpec) -> Lineage {
        let above = self.row.meta.lineage.as_ref();
        let mut catches = spec.catches.clone();
        catches.extend(above.into_iter().flat_map(|lineage| lineage.catches.iter().cloned()));
        if spec.parent_close == ParentClose::Abandon {
            // A child that outlives its ancestors must not wait for one of them to catch its
            // errors.
            catches.clear();
        }
        catches.sort();
        catches.dedup();
        // A scheduled run is the root of its own tree: it does not end with its schedule.
        let root = match spec.scheduled_at {
            Some(_) => id,
            None => above.map_or(self.row.id, |lineage| lineage.root),
        };
        Lineage {
            parent: key,
            root,
            depth: above.map_or(1, |lineage| lineage.depth + 1),
            catches,
            close: spec.parent_close,
            hands_on: spec.context.is_some(),
            is_abandoned: spec.parent_close == ParentClose::Abandon
                || above.is_some_and(|lineage| lineage.is_abandoned),
        }
    }

    fn start_child(&mut self, key: EffectKey, spec: ChildSpec, env: &mut TurnEnv<'_>) {
        self.row.open.children += 1;
        self.records.push(Record::ChildStarted { key, definition: spec.definition.clone() });
        let id = env.ids.instance(env.now.engine);
        let lineage = self.lineage_of_child(id, key, &spec);
        let too_deep = lineage.depth > env.limits.child_depth;
        let cause = match spec.scheduled_at {
            Some(scheduled_at) => StartCause::Schedule { scheduled_at },
            None => StartCause::Child,
        };
        let start = Start { at: spec.at, context: spec.context, ..Start::new(cause, spec.input) };
        // Children inherit the remaining budget (D6), unless they have their own (D8).
        let inherited = self.row.open.deadline().filter(|_| !spec.own_budget);
        let (lineage, own_budget) = (Some(lineage), spec.own_budget);
        let row = InstanceRow {
            deadline_at: [spec.deadline_at, inherited].into_iter().flatten().min(),
            state: crate::store::encode_start(&start),
            key: spec.key,
            meta: InstanceMeta { lineage, own_budget, ..InstanceMeta::default() },
            ..InstanceRow::accepted(id, DefinitionId(0), env.now.engine)
        };
        // A name that no definition can have: the commit answers with a conflict, as for any
        // unknown name.
        let definition = if too_deep { String::new() } else { spec.definition };
        self.conditional_writes.push(ConditionalWrite::StartChild(NewChild {
            key,
            definition,
            version: spec.version,
            label: spec.label,
            row: Box::new(row),
            scheduled_at: spec.scheduled_at,
            tree_limit: env.limits.tree_instances,
            seq: env.ids.next(env.now.engine),
        }));
    }
}

/// A conditional write that publishes a message.
pub(super) fn publish(message: Message, env: &mut TurnEnv<'_>) -> ConditionalWrite {
    let now = env.now.engine;
    let after = |ms: u64| now.saturating_add_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    let row = MessageRow {
        channel: ChannelKey::message(&message.name, &message.key),
        seq: env.ids.next(now),
        payload: message.payload,
        expires_at: Some(after(message.ttl_ms.unwrap_or(env.limits.message_ttl_ms))),
        had: Vec::new(),
    };
    let id = message.id.map(|id| (id, after(env.limits.dedup_ms)));
    ConditionalWrite::Publish { message: row, id, accept: accept(MESSAGE_STARTS, env) }
}

/// A conditional write that creates or changes a schedule, by its identity unless another one
/// beside it is requested (S7).
pub(super) fn put_schedule(
    answer: Option<EffectKey>,
    spec: &ScheduleSpec,
    on_existing: OnExisting,
    env: &mut TurnEnv<'_>,
) -> ConditionalWrite {
    let input = Json::of(spec).unwrap_or_default();
    let upsert = (on_existing == OnExisting::Upsert).then(|| {
        let (step, payload) = ("upsert".to_owned(), input.clone());
        Event::Submitted { step, payload, request_bindings: None }
    });
    let start = Start::new(StartCause::Api, input);
    let identity = spec.identity();
    let tag = crate::store::binding_tag(&identity);
    let key = (on_existing != OnExisting::AddAnother).then_some(identity);
    let id = env.ids.instance(env.now.engine);
    let row = InstanceRow {
        state: crate::store::encode_start(&start),
        key,
        ..InstanceRow::accepted(id, DefinitionId(0), env.now.engine)
    };
    let target = (spec.definition.clone(), spec.version);
    let (row, seq) = (Box::new(row), env.ids.next(env.now.engine));
    ConditionalWrite::PutSchedule { answer, row, tag, target, upsert, seq }
}

/// A conditional write that sends a broadcast.
pub(super) fn broadcast(
    name: &str,
    payload: meantime_core::Json,
    env: &mut TurnEnv<'_>,
) -> ConditionalWrite {
    let channel = ChannelKey::broadcast(name);
    ConditionalWrite::Broadcast { channel, payload, accept: accept(BROADCAST_STARTS, env) }
}

/// Ids reserved for instances that the commit may start.
pub(super) fn accept(count: usize, env: &mut TurnEnv<'_>) -> Accept {
    let now = env.now.engine;
    // The inbox number comes first: a broadcast uses the numbers of unused ids for further
    // deliveries, and these must be larger.
    let seq = env.ids.next(now);
    Accept { ids: (0..count).map(|_| env.ids.instance(now)).collect(), seq }
}
