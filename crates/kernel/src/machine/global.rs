//! Global commands, which belong to no instance or not yet: claims, leases, messages, definitions,
//! incidents.
//!
//! Each becomes its own unit in the batch, beside the turns.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{
    DefinitionId, Failure, IncidentId, TaskCause, TaskId, TaskKind, TaskOutcome, Timestamp,
};

use super::batch::{Batch, UnitOrigin};
use super::claim::ParkedClaim;
use super::definitions::{Loaded, definition_hash};
use super::effect;
use super::engine::Machine;
use super::io::{Output, Ticket};
use super::mailbox::{GlobalAction, GlobalCommand, MailboxItem, PendingItem, Waiter};
use super::ready::Class;
use super::report::{done, token_holds};
use super::turn_builder::TurnEnv;
use crate::command::{ClaimedTask, Deployed, Deployment, Error, LeaseToken, Reply, Wait};
use crate::store::{
    BROADCAST_STARTS, ConditionalWrite, DefinitionRow, Fence, IncidentRow, LeaseRow,
    MESSAGE_STARTS, NewDefinition, Notice, Refusal, TaskRow, TaskState, Unit, UnitDone, UnitResult,
    Write,
};

/// The most timer starts of one definition.
const TIMER_STARTS: usize = 64;

impl Machine {
    pub(super) fn global_units(
        &mut self,
        batch: &mut Batch,
        tasks: &BTreeMap<TaskId, TaskRow>,
        claimed: Vec<Vec<TaskRow>>,
        incidents: Vec<Option<IncidentRow>>,
    ) {
        let claims: BTreeMap<usize, Vec<TaskRow>> =
            std::mem::take(&mut batch.claims).into_iter().zip(claimed).collect();
        let mut incidents: BTreeMap<IncidentId, IncidentRow> =
            incidents.into_iter().flatten().map(|row| (row.id, row)).collect();
        let mut handed_out = BTreeSet::new();
        for number in 0..batch.global.len() {
            let Some(global) = batch.global.get(number) else { break };
            if global.over {
                continue;
            }
            match &global.item {
                GlobalAction::Claim(claim) => {
                    let all = claims.get(&number).into_iter().flatten();
                    let has_any = all.clone().next().is_some();
                    let free = all.filter(|row| !self.claims.busy.contains(&row.id));
                    let (mut rows, mut too_late) = (Vec::new(), Vec::new());
                    for row in free {
                        // Only for detached tasks: a running instance ends its own tasks, and an
                        // operator may have moved its deadline, which this row does not show.
                        let is_alone = row.spec.detached;
                        if is_alone && row.deadline_at.is_some_and(|at| at <= self.now.engine) {
                            too_late.push(row.clone());
                            continue;
                        }
                        if rows.len() < claim.command.max && handed_out.insert(row.id) {
                            rows.push(self.lease(row, claim));
                        }
                    }
                    claim.was_crowded_out.set(has_any && rows.is_empty());
                    // The instance has ended and cannot end the task, so the claim that finds it
                    // does.
                    for task in too_late {
                        let row = Box::new(past_deadline(&task, self.now.engine));
                        let guard = Fence::Task { row: row.clone(), claims: task.claims };
                        batch.units.push(Unit { fence: guard, ..Unit::default() });
                        batch.origins.push(UnitOrigin::Detached(None, row));
                    }
                    for (row, claims) in rows {
                        self.claims.busy.insert(row.id);
                        let guard = Fence::Task { row: row.clone(), claims };
                        batch.units.push(Unit { fence: guard, ..Unit::default() });
                        batch.origins.push(UnitOrigin::Claimed(number, row));
                    }
                }
                GlobalAction::Extend { .. }
                | GlobalAction::Release { .. }
                | GlobalAction::Assign { .. } => {
                    self.change_task(batch, number, tasks);
                }
                GlobalAction::Redispatch(ids) => {
                    let ids = ids.clone();
                    batch.finish_global(number);
                    let rows = ids.iter().filter_map(|id| tasks.get(id));
                    let ready = rows.filter(|row| row.state == TaskState::Ready);
                    for row in ready.filter(|row| row.spec.kind == TaskKind::Engine) {
                        self.outputs.push_back(Output::Dispatch(Box::new(row.clone())));
                    }
                }
                GlobalAction::Incident { incident, variables, audit } => {
                    let (id, variables, audit) = (*incident, variables.clone(), audit.clone());
                    let ticket = global.ticket;
                    batch.finish_global(number);
                    match incidents.remove(&id) {
                        Some(row) => {
                            let instance = row.instance;
                            let item =
                                MailboxItem::Incident { row: Box::new(row), variables, audit };
                            let mut pending = PendingItem::internal(item, self.now.engine);
                            pending.ticket = ticket;
                            self.push(instance, pending, Class::Events);
                        }
                        None => self.reply(ticket, Err(Error::UnknownIncident(id))),
                    }
                }
                GlobalAction::Resume { audit } => {
                    let writes = vec![Write::Resume { at: self.now.engine, audit: audit.clone() }];
                    batch.units.push(Unit { writes, ..Unit::default() });
                    batch.origins.push(UnitOrigin::GlobalCommand(number));
                }
                _ => {
                    let conditional_writes = self.conditional_writes_of(batch, number, tasks);
                    batch.units.push(Unit { conditional_writes, ..Unit::default() });
                    batch.origins.push(UnitOrigin::GlobalCommand(number));
                }
            }
        }
    }

    pub(super) fn change_task(
        &mut self,
        batch: &mut Batch,
        number: usize,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) {
        let Some(global) = batch.global.get(number) else { return };
        let Some(id) = global.item.tasks().first().copied() else { return };
        let ticket = global.ticket;
        let Some(task) = tasks.get(&id) else {
            batch.finish_global(number);
            self.reply(ticket, Err(Error::UnknownTask(id)));
            return;
        };
        let mut row = Box::new(task.clone());
        let good = match &global.item {
            GlobalAction::Extend { token, lease_ms, .. } => {
                let ms = (*lease_ms).min(self.limits.lease_ms);
                let until = self.now.real.saturating_add_millis(ms.cast_signed());
                let held = token_holds(task, Some(*token), self.epoch);
                // An expired lease may be extended as long as no other worker has claimed the task:
                // the token still names the last claim.
                let good = held && matches!(task.state, TaskState::Leased | TaskState::Ready);
                if let Some(lease) = row.lease.as_mut().filter(|_| good) {
                    lease.until = until;
                    if row.state == TaskState::Ready {
                        // The worker was late but is still working: that expiry does not count.
                        row.expiries = row.expiries.saturating_sub(1);
                    }
                    row.state = TaskState::Leased;
                }
                good && row.lease.is_some()
            }
            GlobalAction::Release { token, .. } => {
                let good = token_holds(task, Some(*token), self.epoch);
                row.state = TaskState::Ready;
                row.available_at = self.now.engine;
                row.claims += 1;
                row.attempt = row.attempt.saturating_sub(1);
                row.lease = None;
                good && task.state == TaskState::Leased
            }
            GlobalAction::Assign { assignee, .. } => {
                row.assignee.clone_from(assignee);
                task.spec.kind == TaskKind::User
            }
            _ => false,
        };
        if !good {
            self.counters.leases_lost += 1;
            batch.finish_global(number);
            self.reply(ticket, Err(Error::LeaseLost(id)));
            return;
        }
        let guard = Fence::Task { row: row.clone(), claims: task.claims };
        batch.units.push(Unit { fence: guard, ..Unit::default() });
        batch.origins.push(UnitOrigin::Changed(number, row));
    }

    /// The conditional writes of a global command.
    pub(super) fn conditional_writes_of(
        &mut self,
        batch: &Batch,
        number: usize,
        tasks: &BTreeMap<meantime_core::TaskId, TaskRow>,
    ) -> Vec<ConditionalWrite> {
        let mut env = self.env(tasks);
        match batch.global.get(number).map(|global| &global.item) {
            Some(GlobalAction::Publish(message)) => {
                vec![effect::publish(message.clone(), &mut env)]
            }
            Some(GlobalAction::Broadcast { name, payload }) => {
                vec![effect::broadcast(name, payload.clone(), &mut env)]
            }
            Some(GlobalAction::Deploy(deployment)) => new_definitions(deployment, &mut env),
            Some(GlobalAction::Undeploy { name, version }) => {
                let accept = effect::accept(TIMER_STARTS, &mut env);
                vec![ConditionalWrite::Undeploy { name: name.clone(), version: *version, accept }]
            }
            Some(GlobalAction::PutSchedule { spec, on_existing }) => {
                vec![effect::put_schedule(None, spec, *on_existing, &mut env)]
            }
            _ => Vec::new(),
        }
    }

    /// The row of a task after a claim, and its number of claims before, which is the fence.
    pub(super) fn lease(&self, task: &TaskRow, claim: &ParkedClaim) -> (Box<TaskRow>, u32) {
        let mut row = Box::new(task.clone());
        let after = |from: Timestamp, ms: u64| {
            from.saturating_add_millis(i64::try_from(ms).unwrap_or(i64::MAX))
        };
        row.state = TaskState::Leased;
        row.claims += 1;
        // An expired lease stays in the row: the next claim continues the same attempt (P2) instead
        // of counting a new one.
        row.attempt += u32::from(task.lease.is_none());
        row.lease = Some(LeaseRow {
            worker: claim.command.worker.clone(),
            until: after(self.now.real, claim.command.lease_ms),
            timeout_at: row.spec.timeout_ms.map(|ms| after(self.now.engine, ms)),
        });
        (row, task.claims)
    }

    pub(super) fn claim_result(
        &mut self,
        ticket: Ticket,
        claim: ParkedClaim,
        tasks: Vec<ClaimedTask>,
    ) {
        if tasks.is_empty() && claim.was_crowded_out.take() {
            self.global.push_back(GlobalCommand::new(GlobalAction::Claim(claim), Some(ticket)));
        } else if tasks.is_empty() && claim.until > self.now.real {
            self.claims.park(ticket, claim);
        } else {
            self.output(Output::Reply(ticket, Ok(Reply::Tasks(tasks))));
        }
    }

    pub(super) fn global_result(&mut self, global: &GlobalCommand, result: UnitResult) {
        let done = match result {
            UnitResult::Done(done) => done,
            UnitResult::Refused(Refusal::TooManyStarts) => {
                let text = format!(
                    "one signal may start at most {BROADCAST_STARTS} definitions, one message \
                     {MESSAGE_STARTS}"
                );
                self.reply(global.ticket, Err(Error::Invalid(text)));
                return;
            }
            UnitResult::Conflict | UnitResult::Refused(_) => {
                let answer = match &global.item {
                    GlobalAction::Undeploy { name, version } => Err(Error::UnknownDefinition {
                        name: name.clone(),
                        version: Some(*version),
                    }),
                    _ => Err(Error::Invalid("the request was refused".to_owned())),
                };
                self.reply(global.ticket, answer);
                return;
            }
        };
        self.spread(&done);
        match &global.item {
            GlobalAction::Deploy(deployment) => {
                let reply = self.deployed(deployment, &done.deployed);
                self.notify_others(Notice::Deployed);
                self.armed_by_deploy(global.ticket, &done, reply);
            }
            GlobalAction::Undeploy { name, version } => {
                self.definitions.retire(name, *version);
                self.notify_others(Notice::Deployed);
                self.armed_by_deploy(global.ticket, &done, Reply::Done);
            }
            GlobalAction::Resume { .. } => {
                self.resumed();
                self.notify_others(Notice::Resumed);
                self.reply(global.ticket, Ok(Reply::Done));
            }
            GlobalAction::PutSchedule { .. } => match done.conflict {
                Some(code) => {
                    let problem = meantime_core::Json::null();
                    self.reply(global.ticket, Err(Error::Refused { code, problem }));
                }
                None => self.scheduled(global.ticket, done.scheduled),
            },
            _ => self.published(global.ticket, done),
        }
    }

    /// The answer to a schedule waits until its first occurrence is armed.
    fn scheduled(&mut self, ticket: Option<Ticket>, schedule: Option<meantime_core::InstanceId>) {
        if let (Some(ticket), Some(schedule)) = (ticket, schedule) {
            let reply = Some(Reply::Scheduled { schedule });
            let waiter = Waiter { ticket, wait: Wait::Quiet, after: None, reply };
            self.mailboxes.open(schedule).waiters.push(waiter);
        }
    }

    /// The answer to a message or signal waits until all receivers have no more turns to do.
    pub(super) fn published(&mut self, ticket: Option<Ticket>, done: UnitDone) {
        let Some(ticket) = ticket else { return };
        let UnitDone { woken, accepted, kept, duplicate, .. } = done;
        let mut delivered = woken;
        delivered.extend(accepted);
        delivered.sort_unstable();
        delivered.dedup();
        let reply = Reply::Published { delivered: delivered.clone(), kept, duplicate };
        self.reply_when_idle(ticket, delivered, reply);
    }

    /// The answer to a deployment waits until its timer starts are armed, changed or ended.
    fn armed_by_deploy(&mut self, ticket: Option<Ticket>, done: &UnitDone, reply: Reply) {
        let Some(ticket) = ticket else { return };
        let mut schedules: Vec<_> = done.accepted.iter().chain(&done.woken).copied().collect();
        schedules.sort_unstable();
        schedules.dedup();
        self.reply_when_idle(ticket, schedules, reply);
    }

    pub(super) fn deployed(
        &mut self,
        deployment: &Deployment,
        versions: &[(DefinitionId, u32, bool)],
    ) -> Reply {
        let hash = definition_hash(&deployment.source);
        let mut answers = Vec::new();
        for (definition, (id, version, new)) in deployment.definitions.iter().zip(versions) {
            self.definitions.add_version(&definition.name, *id, *version, false);
            if let Some(notation) = self.notations.get(&deployment.notation).cloned() {
                let (definition, version) = (definition.clone(), *version);
                self.definitions.put(*id, Loaded::Ready { notation, definition, version });
            }
            let (name, hash) = (definition.name.clone(), hash.clone());
            answers.push(Deployed { name, version: *version, hash, new: *new });
        }
        Reply::Deployed(answers)
    }
}

fn new_definitions(deployment: &Deployment, env: &mut TurnEnv<'_>) -> Vec<ConditionalWrite> {
    let now = env.now.engine;
    let hash = definition_hash(&deployment.source);
    let row = |definition: &meantime_core::Definition| DefinitionRow {
        id: DefinitionId(0),
        name: definition.name.clone(),
        version: 0,
        notation: deployment.notation.clone(),
        label: definition.label.clone(),
        hash: hash.clone(),
        deployed_at: now,
        source_name: deployment.source.name.clone(),
        source: deployment.source.text.clone(),
        files: deployment.source.files.clone(),
        triggers: definition.triggers.clone(),
        retired: false,
    };
    let rows = deployment.definitions.iter().map(|definition| row(definition));
    let deploy = |row: DefinitionRow| {
        let accept = effect::accept(TIMER_STARTS.min(row.triggers.len()), env);
        ConditionalWrite::Deploy(Box::new(NewDefinition { row, accept }))
    };
    rows.map(deploy).collect()
}

pub(super) fn handed_out(row: &TaskRow, epoch: u32) -> Option<ClaimedTask> {
    Some(ClaimedTask {
        id: row.id,
        name: row.spec.name.clone(),
        input: row.spec.input.clone(),
        headers: row.spec.headers.clone(),
        attempt: row.attempt,
        token: LeaseToken { epoch, claims: row.claims },
        lease_until: row.lease.as_ref()?.until,
        deadline_at: row.deadline_at,
    })
}

/// The row of a detached task whose deadline passed before it was claimed.
fn past_deadline(task: &TaskRow, now: Timestamp) -> TaskRow {
    let failure = Failure::new("TASK_DEADLINE", "the deadline over all attempts has passed");
    done(task, TaskOutcome::Failed { failure, cause: TaskCause::Deadline, thrown: None }, now)
}
