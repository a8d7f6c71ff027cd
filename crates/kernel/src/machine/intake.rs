//! Accepts commands: limits, back-pressure, routing.
//!
//! A command that is rejected here has cost nothing. Under load, starts are rejected first, then
//! reports and other commands; cancels, edits and deadlines are always accepted (P9).

use meantime_core::{
    DefinitionId, Event, Failure, InstanceId, Json, ScheduleInput, ScheduleSpec, ScopeView, TaskId,
};

use super::claim::ParkedClaim;
use super::engine::Machine;
use super::global_queue::{GlobalAction, GlobalCommand};
use super::io::{Output, Ticket};
use super::mailbox::{MailboxItem, PendingItem, Waiter, owner};
use super::ready::Class;
use crate::command::{
    Command, Error, LeaseToken, Reply, Report, SCHEDULE_INVALID, ScheduleAction, StartCommand, Wait,
};
use crate::history::AuditInfo;

/// How full a queue may be for starts.
const STARTS_PERCENT: usize = 70;

/// The most types and queues that one claim may name.
const CLAIM_NAMES: usize = 1_000;

impl Machine {
    pub(super) fn command(&mut self, ticket: Ticket, command: Command, wait: Wait) {
        let checked = self
            .check_store_reachable()
            .and_then(|()| self.check_paused(&command))
            .and_then(|()| self.check_pressure(&command))
            .and_then(|()| self.check_limits(&command));
        if let Err(error) = checked {
            self.output(Output::Reply(ticket, Err(error)));
            return;
        }
        match command {
            Command::Start(start) => self.start(ticket, start, wait),
            Command::Signal { instance, name, payload } => {
                let bytes = payload.size();
                self.give(instance, MailboxItem::Signal { name, payload }, ticket, wait, bytes);
            }
            Command::Submit { instance, step, payload, request_bindings } => {
                let bytes = payload.size();
                let item =
                    MailboxItem::Event(Event::Submitted { step, payload, request_bindings }, None);
                self.give(instance, item, ticket, wait, bytes);
            }
            Command::Schedule { schedule, action, audit } => {
                let (step, payload) = action.step();
                let event =
                    Event::Submitted { step: step.to_owned(), payload, request_bindings: None };
                self.give(schedule, MailboxItem::Event(event, Some(audit)), ticket, wait, 0);
            }
            Command::Cancel { instance, audit } => {
                let event = Event::Cancel { reason: audit.reason.clone() };
                self.cancel(instance, MailboxItem::Event(event, Some(audit)), ticket, wait);
            }
            Command::Await { instance } => self.give(instance, MailboxItem::Await, ticket, wait, 0),
            Command::SetVariables { instance, values, scope, audit } => {
                let bytes = values.size();
                let scope = scope.filter(|scope| scope != ScopeView::ROOT);
                let item = MailboxItem::Event(Event::VariablesSet { values, scope }, Some(audit));
                self.give(instance, item, ticket, wait, bytes);
            }
            Command::Report { task, token, report } => {
                let bytes = report_bytes(&report);
                let item = MailboxItem::Report { task, token, report };
                self.give(task.0.instance, item, ticket, wait, bytes);
            }
            Command::ReportByOperator { task, report, audit } => {
                let bytes = report_bytes(&report);
                let item = MailboxItem::OperatorReport { task, report, audit };
                self.give(task.0.instance, item, ticket, wait, bytes);
            }
            Command::Suspend { instance, what, audit } => {
                self.give(instance, MailboxItem::Suspending(what, audit), ticket, wait, 0);
            }
            Command::EditTimer { timer, edit, audit } => {
                self.give(owner(timer), MailboxItem::Edit { timer, edit, audit }, ticket, wait, 0);
            }
            Command::Claim(claim) => {
                let claim = ParkedClaim::new(claim, self.now.real, &self.limits);
                self.global.push(GlobalAction::Claim(claim), Some(ticket));
            }
            Command::Resume { audit } => self.resume(ticket, audit),
            Command::Extend { .. }
            | Command::Release { .. }
            | Command::Assign { .. }
            | Command::Publish(_)
            | Command::Broadcast { .. }
            | Command::PutSchedule { .. }
            | Command::Deploy(_)
            | Command::Undeploy { .. }
            | Command::PauseDefinition { .. }
            | Command::RetryIncident { .. }
            | Command::ResolveIncident { .. } => {
                self.global.push(GlobalAction::Command(command), Some(ticket));
            }
        }
    }

    /// The callers whose start has its turn in a batch.
    pub fn starts_in(&self, batch: u64) -> impl Iterator<Item = Ticket> {
        let entries = self.batches.get(batch).into_iter().flat_map(|batch| &batch.entries);
        let starts = entries.filter_map(|entry| entry.items.first());
        let starts = starts.filter(|pending| matches!(pending.item, MailboxItem::Start(..)));
        starts.filter_map(|pending| pending.ticket)
    }

    /// Whether a batch is in flight: not committed, or its answer not known.
    pub fn has_batch(&self, batch: u64) -> bool {
        self.batches.get(batch).is_some()
    }

    /// The result of an engine task.
    pub(super) fn engine_reports(&mut self, task: TaskId, token: LeaseToken, report: Report) {
        let (size, limit) = (report_bytes(&report), self.limits.payload_bytes);
        let report = match at_most("report", size, limit) {
            Ok(()) => report,
            Err(error) => Report::Failed {
                failure: Failure::new(error.code(), error.to_string()),
                retryable: false,
                retry_after_ms: None,
                thrown: None,
            },
        };
        let item = MailboxItem::Report { task, token: Some(token), report };
        let pending = PendingItem::internal(item, self.now.engine);
        self.push(task.0.instance, pending, Class::Events);
    }

    /// A caller stops waiting. Its command is still executed.
    pub(super) fn abandon(&mut self, ticket: Ticket) {
        if self.claims.forget(ticket) {
            self.output(Output::Reply(ticket, Ok(Reply::Tasks(Vec::new()))));
            return;
        }
        if self.drop_await(ticket) || self.hurry(ticket) {
            return;
        }
        if let Some((id, mut waiter)) = self.mailboxes.take_waiter(ticket) {
            let gathered = self.waiters.abandon(ticket);
            if let Some(reply) = waiter.reply.take().or(gathered) {
                self.answer_waiter(Waiter { reply: Some(reply), ..waiter });
            }
            self.drop_idle(id);
        }
    }

    /// Answers a caller that only waits at once, without waiting for the turn in flight.
    fn drop_await(&mut self, ticket: Ticket) -> bool {
        let Some(id) = self.mailboxes.take_await(ticket) else { return false };
        self.output(Output::Reply(ticket, Ok(Reply::Done)));
        self.drop_idle(id);
        true
    }

    /// The command of the caller is not committed yet: it is answered by its commit, without
    /// waiting for anything after that. A claim stops waiting for tasks.
    fn hurry(&mut self, ticket: Ticket) -> bool {
        let is_its = |pending: &&mut PendingItem| pending.ticket == Some(ticket);
        let in_flight = self.batches.items_mut().chain(self.slow.items_mut()).find(is_its);
        if let Some(pending) = self.mailboxes.pending_of(ticket).or(in_flight) {
            pending.wait = Wait::Quiet;
            return true;
        }
        let is_it = |it: &&mut GlobalCommand| it.ticket == Some(ticket);
        let waiting = self.global.iter_mut().find(is_it);
        let global = waiting.or_else(|| self.batches.global_mut().find(is_it));
        if let Some(GlobalCommand { action: GlobalAction::Claim(claim), .. }) = global {
            claim.stop_waiting();
            return true;
        }
        if let Some(claim) = self.batches.handed_mut(ticket) {
            claim.stop_waiting();
            return true;
        }
        false
    }

    fn start(&mut self, ticket: Ticket, start: StartCommand, wait: Wait) {
        match self.definitions.resolve(&start.definition, start.version) {
            Some(definition) => self.start_of(definition, ticket, start, wait),
            None if self.config.shared_store => self.resolve_later(ticket, start, wait),
            None => {
                let (name, version) = (start.definition, start.version);
                self.reply(Some(ticket), Err(Error::UnknownDefinition { name, version }));
            }
        }
    }

    pub(super) fn start_of(
        &mut self,
        definition: DefinitionId,
        ticket: Ticket,
        start: StartCommand,
        wait: Wait,
    ) {
        if self.definitions.is_paused(&start.definition) {
            self.reply(Some(ticket), Err(Error::DefinitionPaused(start.definition)));
            return;
        }
        // Children cannot be refused: the turns that started them are committed. So they delay the
        // starts of the definition that began them, and of no other.
        if is_full(self.mailboxes.children_of(definition), self.limits.queued_turns, STARTS_PERCENT)
        {
            self.counters.overloaded += 1;
            self.reply(Some(ticket), Err(Error::Overloaded));
            return;
        }
        let id = self.ids.instance(self.now.engine);
        let bytes = start.input.size();
        self.mailboxes.open(id).definition = definition;
        let item = MailboxItem::Start(Box::new(start), definition);
        let at = self.now.engine;
        let pending = PendingItem { item, ticket: Some(ticket), wait, at, bytes };
        self.push(id, pending, Class::Starts);
    }

    fn give(
        &mut self,
        id: InstanceId,
        item: MailboxItem,
        ticket: Ticket,
        wait: Wait,
        bytes: usize,
    ) {
        let at = self.now.engine;
        let pending = PendingItem { item, ticket: Some(ticket), wait, at, bytes };
        self.push(id, pending, Class::Events);
    }

    fn cancel(&mut self, id: InstanceId, item: MailboxItem, ticket: Ticket, wait: Wait) {
        let at = self.now.engine;
        let pending = PendingItem { item, ticket: Some(ticket), wait, at, bytes: 0 };
        if self.cancel_overtakes(id) {
            self.push_first(id, pending, Class::Cancels);
        } else {
            self.push(id, pending, Class::Cancels);
        }
    }

    fn check_pressure(&mut self, command: &Command) -> Result<(), Error> {
        let percent = match command {
            Command::Cancel { .. } | Command::EditTimer { .. } | Command::Suspend { .. } => {
                return Ok(());
            }
            Command::Start(_) => STARTS_PERCENT,
            _ => 95,
        };
        let full = |used: usize, limit: usize| is_full(used, limit, percent);
        let (queued, queued_bytes) = self.mailboxes.queued();
        let turns = queued + self.global.len();
        if full(turns, self.limits.queued_turns) || full(queued_bytes, self.limits.queued_bytes) {
            self.counters.overloaded += 1;
            return Err(Error::Overloaded);
        }
        Ok(())
    }

    fn check_limits(&self, command: &Command) -> Result<(), Error> {
        match command {
            Command::Start(start) => {
                self.payload("input", &start.input)?;
                self.request_bindings(start.request_bindings.as_ref())?;
                self.name("definition", &start.definition)?;
                self.name("key", start.key.as_deref().unwrap_or_default())?;
                self.name("idempotency key", start.idempotency.as_deref().unwrap_or_default())?;
                start.restart.as_ref().map_or(Ok(()), |restart| self.operator(&restart.audit))?;
                at_most("tags", start.tags.len(), self.limits.tags)?;
                start.tags.iter().try_for_each(|tag| self.name("tag", tag))
            }
            Command::Signal { name, payload, .. } | Command::Broadcast { name, payload } => {
                self.name("name", name)?;
                self.payload("payload", payload)
            }
            Command::PutSchedule { spec, .. } => self.schedule_spec(spec),
            Command::Schedule { action: ScheduleAction::Change(change), .. } => {
                change.input.as_ref().map_or(Ok(()), |input| self.payload("input", input))
            }
            Command::Publish(message) => {
                self.name("name", &message.name)?;
                self.name("correlation key", &message.key)?;
                self.name("id", message.id.as_deref().unwrap_or_default())?;
                self.payload("payload", &message.payload)
            }
            Command::Submit { step, payload, request_bindings, .. } => {
                self.name("step", step)?;
                self.request_bindings(request_bindings.as_ref())?;
                self.payload("payload", payload)
            }
            Command::SetVariables { values, audit, .. }
            | Command::ResolveIncident { variables: values, audit, .. } => {
                if !values.as_str().trim_start().starts_with('{') {
                    return Err(Error::Invalid("variables must be a JSON object".to_owned()));
                }
                self.payload("variables", values)?;
                self.operator(audit)
            }
            Command::Report { report, .. } => {
                at_most("report", report_bytes(report), self.limits.payload_bytes)
            }
            Command::Claim(claim) => {
                if claim.max == 0 || claim.lease_ms == 0 {
                    let text = "a claim asks for at least one task and a lease above zero";
                    return Err(Error::Invalid(text.to_owned()));
                }
                self.name("worker", &claim.worker)?;
                at_most("types and queues", claim.types.len() + claim.queues.len(), CLAIM_NAMES)?;
                let mut names = claim.types.iter().chain(&claim.queues);
                names.try_for_each(|name| self.name("type or queue", name))
            }
            Command::Assign { assignee, .. } => {
                self.name("assignee", assignee.as_deref().unwrap_or_default())
            }
            Command::ReportByOperator { report, audit, .. } => {
                at_most("report", report_bytes(report), self.limits.payload_bytes)?;
                self.operator(audit)
            }
            Command::Cancel { audit, .. }
            | Command::PauseDefinition { audit, .. }
            | Command::Suspend { audit, .. }
            | Command::EditTimer { audit, .. }
            | Command::RetryIncident { audit, .. }
            | Command::Resume { audit } => self.operator(audit),
            Command::Extend { lease_ms, .. } if *lease_ms == 0 => {
                Err(Error::Invalid("a lease is longer than zero".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn operator(&self, audit: &AuditInfo) -> Result<(), Error> {
        self.name("actor", &audit.actor)?;
        at_most("reason", audit.reason.len(), self.limits.payload_bytes)
    }

    fn schedule_spec(&self, spec: &ScheduleSpec) -> Result<(), Error> {
        self.name("subject", spec.subject.as_deref().unwrap_or_default())?;
        self.name("definition", &spec.definition)?;
        let (ScheduleInput::Input(handed) | ScheduleInput::Context(handed)) = &spec.input;
        self.payload("input", handed)?;
        match spec.problem(&self.limits) {
            None => Ok(()),
            Some(problem) => {
                let (code, problem) =
                    (SCHEDULE_INVALID.to_owned(), Json::of(&problem).unwrap_or_default());
                Err(Error::Refused { code, problem })
            }
        }
    }

    fn payload(&self, what: &'static str, payload: &Json) -> Result<(), Error> {
        at_most(what, payload.size(), self.limits.payload_bytes)
    }

    fn request_bindings(&self, request_bindings: Option<&Json>) -> Result<(), Error> {
        request_bindings.map_or(Ok(()), |it| self.payload("request bindings", it))
    }

    fn name(&self, what: &'static str, name: &str) -> Result<(), Error> {
        at_most(what, name.len(), self.limits.name_bytes)
    }
}

/// Whether a percentage of a limit is used.
fn is_full(used: usize, limit: usize, percent: usize) -> bool {
    used.saturating_mul(100) >= limit.saturating_mul(percent)
}

fn at_most(what: &'static str, size: usize, limit: usize) -> Result<(), Error> {
    if size > limit { Err(Error::TooLarge { what, size, limit }) } else { Ok(()) }
}

fn report_bytes(report: &Report) -> usize {
    match report {
        Report::Completed(output) => output.size(),
        Report::Failed { failure, .. } => {
            failure.message.len() + failure.data.as_ref().map_or(0, Json::size)
        }
    }
}
