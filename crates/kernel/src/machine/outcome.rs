//! From the result of a notation to the unit to commit.

use std::sync::Arc;

use meantime_core::{
    Channel, Event, Execution, Failure, Fault, Json, Outcome, Status, TaskId, TaskOutcome,
    Termination, Turn, Verdict,
};

use super::end::Runnable;
use super::mailbox::WaitState;
use super::turn_builder::{EventSource, TurnBuilder, TurnEnv};
use crate::command::{Error, Reply, Wait};
use crate::fault_injection::{InjectedBug, is_injected};
use crate::history::{CancelCause, Record};
use crate::open::{Key, OpenSubscription};
use crate::store::{
    ChannelKind, ConditionalWrite, Fence, HistoryRow, InboxRow, IncidentCause, InstanceRow,
    MessageRow, NodeIndex, Phase, Unit, Write, encode_start,
};

/// The result of a computed turn.
#[derive(Debug)]
pub(super) enum TurnResult {
    /// A unit to commit.
    Unit(Box<TurnBuilder>),
    /// Nothing to write, only answers.
    Nothing(Box<TurnBuilder>),
    /// A turn with several events faulted: they are tried again one by one.
    OneByOne,
}

impl TurnBuilder {
    /// Applies the result of the notation.
    pub(super) fn finish_turn(
        mut self: Box<Self>,
        result: Result<Turn, Fault>,
        runnable: Option<&Runnable>,
        env: &mut TurnEnv<'_>,
    ) -> TurnResult {
        let turn = match result {
            Ok(turn) => turn,
            Err(fault) => return self.faulted(&fault, runnable, env),
        };
        if let Some(Verdict::Refused { code, problem }) = turn.verdicts.first()
            && self.start.is_some()
        {
            return self.start_refused(code.clone(), problem.clone(), env);
        }
        if self.all_refused(&turn.verdicts) {
            self.apply_verdicts(turn.verdicts, env);
            return TurnResult::Nothing(self);
        }
        // The effects below may move or remove the deadline; the outcome names the one that passed.
        let deadline = self.row.deadline_at;
        self.begin_turn(&turn);
        self.apply_verdicts(turn.verdicts, env);
        let turn_no = if is_injected(InjectedBug::ReuseActivation) { 1 } else { self.row.turn_no };
        for (ordinal, effect) in turn.effects.into_iter().enumerate() {
            let ordinal = u32::try_from(ordinal).unwrap_or(u32::MAX);
            self.perform(self.row.id.effect(turn_no, ordinal), effect, env);
        }
        self.resolve_status(turn.status, runnable, deadline, env);
        TurnResult::Unit(self)
    }

    /// Ends an instance without its notation: its deadline passed or it was cancelled before its
    /// first turn, its notation faulted on a cancel or deadline, a second cancel overtook a slow
    /// turn, or its rows are damaged.
    pub(super) fn end_by_kernel(
        mut self: Box<Self>,
        event: &Event,
        runnable: Option<&Runnable>,
        env: &mut TurnEnv<'_>,
    ) -> TurnResult {
        let (execution, context) = (execution_of(runnable), self.context_now(runnable));
        let outcome = Self::forced_outcome(event, execution, self.row.deadline_at, context);
        self.row.turn_no += 1;
        if let Some(start) = &self.start {
            let (cause, input) = (start.cause.clone(), start.input.clone());
            self.records.insert(0, Record::Started { cause, input });
        }
        if matches!(event, Event::DeadlineReached) {
            self.fire(self.row.id.deadline_timer().0);
        }
        for source in std::mem::take(&mut self.sources) {
            if let EventSource::Inbox(row) = source {
                let (instance, seq) = (row.instance, row.seq);
                self.writes.push(Write::DeleteInbox { instance, seq });
            }
        }
        self.record_event(event, true);
        self.end(outcome, env);
        TurnResult::Unit(self)
    }

    /// Makes the unit, and returns the row as it will be after the unit has taken effect.
    pub(super) fn finish(&mut self, env: &mut TurnEnv<'_>) -> Option<(Unit, Arc<InstanceRow>)> {
        self.route_returned_signals();
        env.counters.stale_changes += std::mem::take(&mut self.stale);
        self.touched |= !self.records.is_empty();
        self.note_end_waiters(env);
        if self.touched {
            self.note_waiters(env);
        }
        // A changed row is written under the fence of its turn number. Writes without a changed
        // row, such as returning a stale message, still depend on that turn, so the fence only
        // compares.
        if self.touched && !self.records.is_empty() {
            self.write_history(env);
        }
        // Shared with the fence: states are copied once.
        let after = Arc::new(self.row.clone());
        let fence = if self.touched {
            let row = after.clone();
            if self.insert {
                Fence::Insert(row)
            } else {
                Fence::Turn { row, expected: self.expected }
            }
        } else if self.writes.is_empty() && self.conditional_writes.is_empty() {
            return None;
        } else {
            Fence::Unchanged { instance: self.row.id, turn_no: self.expected }
        };
        let unit = Unit {
            preconditions: std::mem::take(&mut self.preconditions),
            fence,
            writes: std::mem::take(&mut self.writes),
            conditional_writes: std::mem::take(&mut self.conditional_writes),
        };
        Some((unit, after))
    }

    /// Callers may wait on other nodes than the one that ends the instance. Their nodes are kept in
    /// the row until then, even if nothing else in the row changes.
    fn note_end_waiters(&mut self, env: &TurnEnv<'_>) {
        let Some(NodeIndex(node_index)) = env.node_index else { return };
        let nodes = &mut self.row.meta.end_awaited_at;
        if self.row.phase.is_ended() {
            self.rested.extend(nodes.take().unwrap_or_default());
        } else if self.end_awaited {
            let nodes = nodes.get_or_insert_default();
            if !nodes.contains(&node_index) {
                nodes.push(node_index);
                self.touched = true;
            }
        }
    }

    /// Callers may wait on other nodes than the one whose turn makes the instance idle.
    fn note_waiters(&mut self, env: &TurnEnv<'_>) {
        let Some(NodeIndex(node_index)) = env.node_index else { return };
        if WaitState::of(&self.row).satisfies(Wait::Idle) {
            self.rested.extend(self.row.meta.awaited_at.take().unwrap_or_default());
        } else if self.awaited {
            let nodes = self.row.meta.awaited_at.get_or_insert_default();
            if !nodes.contains(&node_index) {
                nodes.push(node_index);
            }
        }
    }

    /// A signal that was not taken belongs to another element of this instance that waits for it.
    /// Elements that subscribed in this turn find it in the buffer when their conditional write is
    /// resolved; older ones do not search the buffer again, so it is handed to them here.
    fn route_returned_signals(&mut self) {
        let ended = self.row.phase.is_ended();
        let is_signal = |message: &MessageRow| message.channel.kind == ChannelKind::Signal;
        if ended {
            self.conditional_writes.retain(
                |it| !matches!(it, ConditionalWrite::Return { message, .. } if is_signal(message)),
            );
            return;
        }
        let new: Vec<Key> = self
            .conditional_writes
            .iter()
            .filter_map(|conditional| match conditional {
                ConditionalWrite::Subscribe { subscription, .. } => {
                    Some(Key::from(subscription.key))
                }
                _ => None,
            })
            .collect();
        let mut given = Vec::new();
        for conditional in &mut self.conditional_writes {
            let ConditionalWrite::Return { message, waiter, .. } = conditional else { continue };
            if !is_signal(message) {
                continue;
            }
            let waits = |key: &Key, open: &OpenSubscription| {
                let name = &message.channel.name;
                matches!(&open.channel, Channel::Signal { name: it } if it == name)
                    && !new.contains(key)
                    && !given.contains(key)
            };
            let open = self.row.open.subscriptions.iter().find(|(key, open)| waits(key, open));
            if let Some((key, _)) = open {
                given.push(*key);
                *waiter = Some(key.of(self.row.id));
            }
        }
    }

    fn write_history(&mut self, env: &mut TurnEnv<'_>) {
        // Another node may have used larger numbers in the same millisecond. History numbers of an
        // instance must increase, so this node continues after the last one.
        env.ids.skip_to(self.row.last_history);
        let seq = env.ids.next(env.now.engine);
        if let Some(Record::Started { .. }) = self.records.first() {
            self.row.meta.started_in = Some(seq);
        }
        self.writes.push(Write::History(HistoryRow {
            seq,
            instance: self.row.id,
            turn_no: self.row.turn_no,
            at: env.now.engine,
            previous: self.row.last_history,
            records: std::mem::take(&mut self.records),
        }));
        self.row.last_history = seq;
    }

    fn begin_turn(&mut self, turn: &Turn) {
        self.touched = true;
        self.row.turn_no += 1;
        self.row.state = turn.state.clone();
        let alone = self.start.is_none() && self.is_only_continue();
        self.row.meta.ops = if alone { self.row.meta.ops } else { 0 };
        self.row.meta.ops = self.row.meta.ops.saturating_add(turn.ops);
        if let Some(start) = &self.start {
            let (cause, input) = (start.cause.clone(), start.input.clone());
            self.records.insert(0, Record::Started { cause, input });
        }
    }

    fn is_only_continue(&self) -> bool {
        self.events.iter().all(|event| matches!(event, Event::Continue))
    }

    /// Whether nothing is written: every event came from a caller and was refused.
    fn all_refused(&self, verdicts: &[Verdict]) -> bool {
        let refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused { .. });
        !self.touched
            && self.start.is_none()
            && self.writes.is_empty()
            && self.conditional_writes.is_empty()
            && self.sources.iter().all(|source| matches!(source, EventSource::MailboxItem(_)))
            && verdicts.iter().all(refused)
    }

    /// Answers the sender of each event, and returns messages that were not taken to their
    /// channels.
    fn apply_verdicts(&mut self, verdicts: Vec<Verdict>, env: &mut TurnEnv<'_>) {
        let events = std::mem::take(&mut self.events);
        let sources = std::mem::take(&mut self.sources);
        for ((event, source), verdict) in events.iter().zip(sources).zip(verdicts) {
            let taken = matches!(verdict, Verdict::Taken { .. });
            let refused = matches!(verdict, Verdict::Refused { .. });
            match source {
                EventSource::Inbox(row) if taken => {
                    let (instance, seq) = (row.instance, row.seq);
                    self.writes.push(Write::DeleteInbox { instance, seq });
                }
                EventSource::Inbox(row) => self.put_back(*row, env),
                EventSource::Signal(message)
                    if !taken && !is_injected(InjectedBug::SwallowSignal) =>
                {
                    env.counters.returned += 1;
                    self.keep_signal(*message, env);
                }
                EventSource::MailboxItem(number) => self.answer_verdict(number, event, verdict),
                EventSource::Kernel if !taken => self.unfire(event, env),
                EventSource::Signal(_) | EventSource::Kernel => {}
            }
            if let Event::IncidentResolved { incident, .. } = event {
                self.incident_resolved(*incident, taken);
            }
            if !refused {
                self.record_event(event, taken);
            }
        }
        self.events = events;
    }

    fn answer_verdict(&mut self, number: usize, event: &Event, verdict: Verdict) {
        let answer = match (verdict, event) {
            (Verdict::Refused { code, problem }, _) => Err(Error::Refused { code, problem }),
            (Verdict::Taken { reply }, Event::Submitted { .. }) => Ok(Reply::Submitted { reply }),
            (Verdict::NotTaken, Event::Submitted { .. }) => {
                Err(Error::Refused { code: "step_not_active".to_owned(), problem: Json::null() })
            }
            // Another event of this turn has ended the task: the reporter gets `lease_lost` (T10).
            (Verdict::NotTaken, Event::TaskDone { key, .. }) => Err(Error::LeaseLost(TaskId(*key))),
            (Verdict::NotTaken, Event::IncidentResolved { incident, .. }) => {
                Err(self.not_resolved(*incident))
            }
            (Verdict::Taken { .. } | Verdict::NotTaken, _) => return,
        };
        self.answer(number, answer);
    }

    /// The incident was closed by another event, or its element cannot be ended with variables.
    fn not_resolved(&self, incident: meantime_core::IncidentId) -> Error {
        let is_open = self.row.open.incidents.values().any(|open| *open == incident);
        if is_open { Error::NotResolvable(incident) } else { Error::UnknownIncident(incident) }
    }

    /// A timer whose event was not taken did not fire: an earlier event of the same turn left its
    /// element (T10, O2). Its record becomes a cancellation.
    fn unfire(&mut self, event: &Event, env: &mut TurnEnv<'_>) {
        // Other events of the kernel leave no record that says that they were taken.
        let Event::TimerFired { key: lost, .. } = event else { return };
        for record in &mut self.records {
            if let Record::TimerFired { key, kind, due_at, .. } = record
                && key == lost
            {
                let (key, kind, due_at, cause) = (*key, *kind, *due_at, CancelCause::ScopeLeft);
                *record = Record::TimerCancelled { key, kind, due_at, cause };
                env.counters.fired -= 1;
                env.counters.stale_fires += 1;
            }
        }
    }

    fn record_event(&mut self, event: &Event, taken: bool) {
        let note = match event {
            // The record of the timer tells it already; a slice is not recorded.
            Event::TimerFired { .. } | Event::Continue => return,
            Event::Signal { name, .. } | Event::Message { name, .. } => Some(name.clone()),
            Event::Submitted { step, .. } => Some(step.clone()),
            Event::TaskDone { outcome: TaskOutcome::Failed { failure, .. }, .. }
            | Event::ChildRaised { raised: failure, .. } => Some(failure.code.clone()),
            _ => None,
        };
        let message = match event {
            Event::TaskDone { outcome: TaskOutcome::Failed { failure, .. }, .. }
            | Event::ChildRaised { raised: failure, .. } => Some(failure.message.clone()),
            _ => None,
        };
        let (name, key) = (event.name().to_owned(), event.key());
        let reported = key.and_then(|key| self.reported.remove(&key));
        let (attempt, worker) = reported.map_or((None, None), |(attempt, by)| (Some(attempt), by));
        self.records.push(Record::Event { name, key, note, taken, message, attempt, worker });
    }

    fn resolve_status(
        &mut self,
        status: Status,
        runnable: Option<&Runnable>,
        deadline: Option<meantime_core::Timestamp>,
        env: &mut TurnEnv<'_>,
    ) {
        let last = self.events.iter().find(|event| must_end(event)).cloned();
        match (status, last) {
            (Status::Ended(outcome), _) => self.end(outcome, env),
            (Status::Closing(outcome), _) => self.close(outcome),
            // After a cancel or a passed deadline an instance must be closing or ended (D5).
            (_, Some(event)) => {
                let (execution, context) = (execution_of(runnable), self.context_now(runnable));
                let outcome = Self::forced_outcome(&event, execution, deadline, context);
                self.end(outcome, env);
            }
            (_, None) if self.row.phase == Phase::Closing => {}
            (Status::Running, None) => self.row.phase = Phase::Running,
            (Status::Yield, None) => {
                self.row.phase = Phase::Yielding;
                if is_injected(InjectedBug::RecomputeDeadline) {
                    self.recompute_deadline(execution_of(runnable), env.now.engine);
                }
            }
        }
    }

    fn start_refused(
        mut self: Box<Self>,
        code: String,
        problem: Json,
        env: &mut TurnEnv<'_>,
    ) -> TurnResult {
        if self.insert {
            self.answer(0, Err(Error::Refused { code, problem }));
            return TurnResult::Nothing(self);
        }
        // It was accepted by a commit, so its end must be visible.
        let failure =
            Failure { data: Some(problem), ..Failure::new(code, "the start was refused") };
        let (termination, context) = (Termination::RuntimeError, self.context_now(None));
        self.row.turn_no += 1;
        self.end(Outcome::Failed { failure, termination, context }, env);
        TurnResult::Unit(self)
    }

    /// A turn could not be computed: its event is held by an incident, and nothing is lost (I10).
    fn faulted(
        mut self: Box<Self>,
        fault: &Fault,
        runnable: Option<&Runnable>,
        env: &mut TurnEnv<'_>,
    ) -> TurnResult {
        env.counters.faults += 1;
        // Only one of them may be bad: nothing is written, and each is tried alone (ADR 0007).
        if self.events.len() > 1 {
            return TurnResult::OneByOne;
        }
        if let Some(event) = self.events.first().filter(|event| must_end(event)).cloned() {
            // A definition cannot prevent its end by faulting on a cancel or deadline.
            return self.end_by_kernel(&event, runnable, env);
        }
        let element = fault.element.clone().unwrap_or_default();
        let failure = Failure::new(fault.code.clone(), fault.message.clone());
        self.restore_waiters();
        let incident = self.raise(IncidentCause::Turn, element, failure, env);
        if let Some(start) = &self.start {
            self.row.state = encode_start(start);
            self.row.meta.held = Some(incident);
        }
        let held = self.events.first().cloned().zip(self.sources.first().cloned());
        match held {
            // A slice is no event that could be stored, so the instance itself is held.
            Some((Event::Continue, _)) => self.row.meta.held = Some(incident),
            Some((event, source)) => {
                let (seq, at, origin) = match source {
                    EventSource::Inbox(row) => (row.seq, row.at, row.origin),
                    EventSource::Signal(message) => {
                        (env.ids.next(env.now.engine), env.now.engine, Some(*message))
                    }
                    _ => (env.ids.next(env.now.engine), env.now.engine, None),
                };
                let (instance, held) = (self.row.id, Some(incident));
                let row = InboxRow { instance, seq, at, event, origin, held };
                self.writes.push(Write::PutInbox(Box::new(row)));
            }
            None => {}
        }
        TurnResult::Unit(self)
    }
}

fn execution_of(runnable: Option<&Runnable>) -> Option<&Execution> {
    runnable.and_then(|(_, definition)| definition.execution.as_ref())
}

fn must_end(event: &Event) -> bool {
    matches!(event, Event::Cancel { .. } | Event::DeadlineReached)
}
