//! Global commands, which belong to no instance or not yet: claims, leases, messages, definitions,
//! incidents.
//!
//! Each becomes its own unit in the batch, beside the turns.

use std::collections::BTreeMap;

use meantime_core::{DefinitionId, IncidentId, Json, TaskId, TaskKind, Timestamp};

use super::batch::{Batch, UnitOrigin};
use super::claim::{ClaimSelection, ParkedClaim};
use super::definitions::definition_hash;
use super::effect;
use super::engine::Machine;
use super::global_queue::{GlobalAction, GlobalCommand};
use super::io::{Output, Ticket};
use super::mailbox::{MailboxItem, PendingItem, Waiter};
use super::ready::Class;
use super::report::token_holds;
use super::turn_builder::TurnEnv;
use crate::command::{ClaimedTask, Command, Deployed, Deployment, Error, LeaseToken, Reply, Wait};
use crate::history::AuditInfo;
use crate::store::{
    BROADCAST_STARTS, ConditionalWrite, DefinitionPause, DefinitionRow, Fence, IncidentRow,
    MESSAGE_STARTS, NewDefinition, Notice, Refusal, TaskRow, TaskState, Unit, UnitDone, UnitResult,
    Write,
};

/// The most timer starts of one definition.
const TIMER_STARTS: usize = 64;

impl Machine {
    /// Makes the units of the global commands of a batch.
    pub(super) fn global_units(
        &mut self,
        batch: &mut Batch,
        tasks: &BTreeMap<TaskId, TaskRow>,
        claimed: Vec<Vec<TaskRow>>,
        incidents: Vec<Option<IncidentRow>>,
        has_new_damage: bool,
    ) {
        let claims: BTreeMap<usize, Vec<TaskRow>> =
            std::mem::take(&mut batch.claims).into_iter().zip(claimed).collect();
        let mut incidents: BTreeMap<IncidentId, IncidentRow> =
            incidents.into_iter().flatten().map(|row| (row.id, row)).collect();
        let limit = self.claim_query_limit(batch);
        let mut commands = std::mem::take(&mut batch.global);
        for (number, global) in commands.iter_mut().enumerate().filter(|(_, global)| !global.over) {
            match &global.action {
                GlobalAction::Claim(claim) => {
                    let found = claims.get(&number).map_or(&[][..], Vec::as_slice);
                    let found_all = found.len() < limit && !has_new_damage;
                    let selection = self.claims.select(claim, found, found_all, self.now);
                    if found_all {
                        let room = claim.max() - selection.leased.len();
                        batch.rooms.push((number, room));
                    }
                    add_claim(batch, number, selection);
                }
                GlobalAction::Redispatch(ids) => {
                    self.redispatch(ids, tasks);
                    global.over = true;
                }
                GlobalAction::Reoffer(leases) => {
                    let rows = reoffered(leases, tasks, self.now.engine);
                    global.over = rows.is_empty();
                    for (row, claims) in rows {
                        let fence = Fence::Task { row: row.clone(), claims };
                        let unit = Unit { fence, ..Unit::default() };
                        batch.add_unit(unit, UnitOrigin::Changed(number, row));
                    }
                }
                GlobalAction::Command(command) => {
                    let caller = (number, global.ticket);
                    match self.command_unit(command, caller, tasks, &mut incidents) {
                        Some((unit, origin)) => batch.add_unit(unit, origin),
                        None => global.over = true,
                    }
                }
            }
        }
        batch.global = commands;
    }

    /// Dispatches engine tasks that are still ready.
    fn redispatch(&mut self, ids: &[TaskId], tasks: &BTreeMap<TaskId, TaskRow>) {
        let ready =
            ids.iter().filter_map(|id| tasks.get(id)).filter(|row| row.state == TaskState::Ready);
        for row in ready.filter(|row| row.spec.kind == TaskKind::Engine) {
            self.output(Output::Dispatch(Box::new(row.clone())));
        }
    }

    /// The unit of a caller's command. None if it was answered, or became an item of an instance.
    fn command_unit(
        &mut self,
        command: &Command,
        (number, ticket): (usize, Option<Ticket>),
        tasks: &BTreeMap<TaskId, TaskRow>,
        incidents: &mut BTreeMap<IncidentId, IncidentRow>,
    ) -> Option<(Unit, UnitOrigin)> {
        let origin = UnitOrigin::GlobalCommand(number);
        let unit = match command {
            Command::Extend { task, .. }
            | Command::Release { task, .. }
            | Command::Assign { task, .. } => {
                let changed = match tasks.get(task) {
                    Some(row) => self.changed_task(row, command).ok_or(Error::LeaseLost(*task)),
                    None => Err(Error::UnknownTask(*task)),
                };
                return match changed {
                    Ok((row, claims)) => {
                        let fence = Fence::Task { row: row.clone(), claims };
                        let unit = Unit { fence, ..Unit::default() };
                        Some((unit, UnitOrigin::Changed(number, row)))
                    }
                    Err(error) => {
                        let is_stale = matches!(error, Error::LeaseLost(_));
                        self.counters.leases_lost += u64::from(is_stale);
                        self.reply(ticket, Err(error));
                        None
                    }
                };
            }
            Command::RetryIncident { incident, audit } => {
                self.pass_to_instance(ticket, incidents.remove(incident), *incident, None, audit);
                return None;
            }
            Command::ResolveIncident { incident, variables, audit } => {
                let (row, variables) = (incidents.remove(incident), Some(variables.clone()));
                self.pass_to_instance(ticket, row, *incident, variables, audit);
                return None;
            }
            Command::Resume { audit } => {
                let writes = vec![Write::Resume { at: self.now.engine, audit: audit.clone() }];
                Unit { writes, ..Unit::default() }
            }
            _ => {
                let conditional_writes = self.conditional_writes_of(command, tasks);
                Unit { conditional_writes, ..Unit::default() }
            }
        };
        Some((unit, origin))
    }

    /// An operator's answer to an incident becomes an item of its instance.
    fn pass_to_instance(
        &mut self,
        ticket: Option<Ticket>,
        row: Option<IncidentRow>,
        incident: IncidentId,
        variables: Option<Json>,
        audit: &AuditInfo,
    ) {
        let Some(row) = row.map(Box::new) else {
            self.reply(ticket, Err(Error::UnknownIncident(incident)));
            return;
        };
        let (instance, audit) = (row.instance, audit.clone());
        let item = MailboxItem::Incident { row, variables, audit };
        let pending = PendingItem::internal(item, self.now.engine);
        self.push(instance, PendingItem { ticket, ..pending }, Class::Events);
    }

    /// The row of a task after a command, and its number of claims before, which is the fence. None
    /// if the command is stale: its token names an earlier claim, or there is nothing to change.
    fn changed_task(&self, task: &TaskRow, command: &Command) -> Option<(Box<TaskRow>, u32)> {
        let mut row = Box::new(task.clone());
        match command {
            Command::Extend { token, lease_ms, .. } => {
                // An expired lease may be extended as long as no other worker has claimed the task:
                // the token still names the last claim.
                let held = token_holds(task, Some(*token), self.epoch)
                    && matches!(task.state, TaskState::Leased | TaskState::Ready);
                let lease = row.lease.as_mut().filter(|_| held)?;
                let ms = (*lease_ms).min(self.limits.lease_ms);
                let has_expired = lease.until <= self.now.real;
                lease.until = self.now.real.saturating_add_millis(ms.cast_signed());
                if row.state == TaskState::Ready && has_expired {
                    // The worker was late but is still working: that expiry does not count. A task
                    // that is only offered again after a crash has no expiry.
                    row.expiries = row.expiries.saturating_sub(1);
                }
                row.state = TaskState::Leased;
            }
            Command::Release { token, .. } => {
                let held = token_holds(task, Some(*token), self.epoch);
                if !held || task.state != TaskState::Leased {
                    return None;
                }
                row.state = TaskState::Ready;
                row.available_at = self.now.engine;
                row.claims += 1;
                row.attempt = row.attempt.saturating_sub(1);
                row.lease = None;
            }
            Command::Assign { assignee, .. } if task.spec.kind == TaskKind::User => {
                row.assignee.clone_from(assignee);
            }
            _ => return None,
        }
        Some((row, task.claims))
    }

    /// The conditional writes of a global command.
    fn conditional_writes_of(
        &mut self,
        command: &Command,
        tasks: &BTreeMap<TaskId, TaskRow>,
    ) -> Vec<ConditionalWrite> {
        let mut env = self.env(tasks);
        match command {
            Command::Publish(message) => vec![effect::publish(message.clone(), &mut env)],
            Command::Broadcast { name, payload } => {
                vec![effect::broadcast(name, payload.clone(), &mut env)]
            }
            Command::Deploy(deployment) => new_definitions(deployment, &mut env),
            Command::Undeploy { name, version } => {
                let accept = effect::accept(TIMER_STARTS, &mut env);
                vec![ConditionalWrite::Undeploy { name: name.clone(), version: *version, accept }]
            }
            Command::PauseDefinition { name, pauses, audit } => {
                let (name, audit) = (name.clone(), audit.clone());
                let pause = DefinitionPause { since: env.now.engine, audit };
                let pause = pauses.then_some(pause);
                vec![ConditionalWrite::PauseDefinition { name, pause }]
            }
            Command::PutSchedule { spec, on_existing } => {
                vec![effect::put_schedule(None, spec, *on_existing, &mut env)]
            }
            _ => unreachable!("the command belongs to an instance"),
        }
    }

    pub(super) fn claim_result(
        &mut self,
        ticket: Ticket,
        claim: ParkedClaim,
        tasks: Vec<ClaimedTask>,
    ) {
        if tasks.is_empty() && claim.takes_another_look() {
            self.global.push(GlobalAction::Claim(claim), Some(ticket));
        } else if tasks.is_empty() && claim.waits(self.now) {
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
                let answer = match &global.action {
                    GlobalAction::Command(Command::Undeploy { name, version }) => {
                        let (name, version) = (name.clone(), Some(*version));
                        Err(Error::UnknownDefinition { name, version })
                    }
                    GlobalAction::Command(Command::PauseDefinition { name, .. }) => {
                        Err(Error::UnknownDefinition { name: name.clone(), version: None })
                    }
                    _ => Err(Error::Invalid("the request was refused".to_owned())),
                };
                self.reply(global.ticket, answer);
                return;
            }
        };
        self.spread(&done, None);
        let GlobalAction::Command(command) = &global.action else {
            unreachable!("claims and tasks to run have units of other kinds");
        };
        match command {
            Command::Deploy(deployment) => {
                let reply = self.deployed(deployment, &done.deployed);
                self.notify_others(Notice::Deployed);
                self.armed_by_deploy(global.ticket, &done, reply);
            }
            Command::Undeploy { name, version } => {
                self.definitions.retire(name, *version);
                self.notify_others(Notice::Deployed);
                self.armed_by_deploy(global.ticket, &done, Reply::Done);
            }
            Command::PauseDefinition { name, pauses, .. } => {
                self.definitions.set_paused(name, *pauses);
                self.notify_others(Notice::Deployed);
                self.reply(global.ticket, Ok(Reply::Done));
            }
            Command::Resume { .. } => {
                self.resumed();
                self.notify_others(Notice::Resumed);
                self.reply(global.ticket, Ok(Reply::Done));
            }
            Command::PutSchedule { .. } => match done.conflict {
                Some(code) => {
                    let problem = Json::null();
                    self.reply(global.ticket, Err(Error::Refused { code, problem }));
                }
                None => self.scheduled(global.ticket, done.scheduled),
            },
            Command::Publish(_) | Command::Broadcast { .. } => {
                self.published(global.ticket, done);
            }
            _ => unreachable!("the command has a unit of another kind"),
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
            self.definitions.put_deployed(*id, *version, &deployment.notation, definition);
            let (name, hash) = (definition.name.clone(), hash.clone());
            answers.push(Deployed { name, version: *version, hash, new: *new });
        }
        Reply::Deployed(answers)
    }
}

/// The rows of leased tasks that are offered again, each with its number of claims, which is the
/// fence. The lease stays in the row, as if it had expired: its token is valid until another worker
/// claims the task, which continues the same attempt. That the server crashed is no fault of the
/// task, so nothing is counted or recorded. A lease that was extended since is not touched.
fn reoffered(
    leases: &BTreeMap<TaskId, Timestamp>,
    tasks: &BTreeMap<TaskId, TaskRow>,
    now: Timestamp,
) -> Vec<(Box<TaskRow>, u32)> {
    let rows = leases.iter().filter_map(|(id, until)| {
        let row = tasks.get(id).filter(|row| row.state == TaskState::Leased)?;
        row.lease.as_ref().filter(|lease| lease.until == *until)?;
        let ready = TaskRow { state: TaskState::Ready, available_at: now, ..row.clone() };
        Some((Box::new(ready), row.claims))
    });
    rows.collect()
}

/// The units of a claim: the tasks that it leases, and those that it finds too late.
fn add_claim(batch: &mut Batch, number: usize, selection: ClaimSelection) {
    for (row, claims) in selection.too_late {
        let fence = Fence::Task { row: row.clone(), claims };
        batch.add_unit(Unit { fence, ..Unit::default() }, UnitOrigin::Detached(None, row));
    }
    for (row, claims) in selection.leased {
        let fence = Fence::Task { row: row.clone(), claims };
        batch.add_unit(Unit { fence, ..Unit::default() }, UnitOrigin::Claimed(number, row));
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
        paused: None,
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
