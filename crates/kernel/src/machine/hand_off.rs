//! Direct hand-off: a new task for a worker is leased in the commit that creates it.
//!
//! ```text
//!   turns of a batch ─► new tasks, ─► a claim that waits on this node,
//!                       best first    or one of the same batch that has room
//!   committed ─► the worker gets it   no effect ─► the claim waits again, before all others
//! ```
//!
//! Without it a task needs a commit of its own to be leased, one disk sync after the one that
//! creates it. No other task is overtaken: a claim waits only if nothing that suits it is ready,
//! and a claim of the same batch gets new tasks only after everything that its query has found. A
//! claim that could also take a new task of an earlier batch, whose commit is not answered yet,
//! gets none here: that task comes first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{TaskId, TaskKind, Timestamp};

use super::batch::Batch;
use super::claim::ParkedClaim;
use super::engine::Machine;
use super::global::handed_out;
use super::io::{Output, Ticket};
use crate::command::{ClaimedTask, Reply};
use crate::store::{TaskState, Write};

/// The tasks that one claim gets in the commit that creates them.
pub(super) struct HandOff {
    to: Recipient,
    room: usize,
    /// Each with the entry of the turn that creates it.
    tasks: Vec<(usize, ClaimedTask)>,
}

/// A claim that can take new tasks.
enum Recipient {
    /// It waited, and is not in the queue of waiting claims meanwhile.
    Parked(Ticket, ParkedClaim),
    /// A claim of the same batch, by its number among the global commands.
    SameBatch(Ticket, usize),
}

impl HandOff {
    fn ticket(&self) -> Ticket {
        match &self.to {
            Recipient::Parked(ticket, _) | Recipient::SameBatch(ticket, _) => *ticket,
        }
    }

    /// The claim that waited, if it is the one of this caller.
    pub(super) fn parked_mut(&mut self, caller: Ticket) -> Option<&mut ParkedClaim> {
        match &mut self.to {
            Recipient::Parked(ticket, claim) if *ticket == caller => Some(claim),
            _ => None,
        }
    }

    /// The caller whose claim waited.
    pub(super) fn parked_ticket(&self) -> Option<Ticket> {
        match &self.to {
            Recipient::Parked(ticket, _) => Some(*ticket),
            Recipient::SameBatch(..) => None,
        }
    }
}

/// A new task, and where it is in the batch.
struct NewTask {
    order: (Reverse<i32>, Timestamp, TaskId),
    entry: usize,
    write: usize,
}

impl Machine {
    /// Leases the new tasks of a batch to claims that wait for them. Tasks are matched best first,
    /// claims in the order in which they came.
    pub(super) fn hand_off(&mut self, batch: &mut Batch) {
        let mut tasks = new_tasks(batch, self.now.engine);
        if tasks.is_empty() {
            return;
        }
        tasks.sort_unstable_by_key(|task| task.order);
        let coming: BTreeSet<(String, String)> = self.batches.unclaimed().cloned().collect();
        let mut recipients = self.recipients_of(batch, &coming);
        for task in tasks {
            self.hand_off_task(batch, &task, &coming, &mut recipients);
        }
        batch.handed = recipients.into_iter().filter(|it| !it.tasks.is_empty()).collect();
    }

    /// The claims of a batch that have room for new tasks.
    fn recipients_of(&self, batch: &Batch, coming: &BTreeSet<(String, String)>) -> Vec<HandOff> {
        let mut recipients = Vec::new();
        for &(number, room) in batch.rooms.iter().filter(|(_, room)| *room > 0) {
            let global = &batch.global[number];
            let (Some(claim), Some(ticket)) = (global.action.claim(), global.ticket) else {
                continue;
            };
            if !self.claims.has_missed_offer(claim) && !suits_any(claim, coming) {
                let to = Recipient::SameBatch(ticket, number);
                recipients.push(HandOff { to, room, tasks: Vec::new() });
            }
        }
        recipients
    }

    fn hand_off_task(
        &mut self,
        batch: &mut Batch,
        task: &NewTask,
        coming: &BTreeSet<(String, String)>,
        recipients: &mut Vec<HandOff>,
    ) {
        let Batch { entries, global, unclaimed, .. } = batch;
        let builder = entries[task.entry].builder.as_mut();
        let write = builder.and_then(|builder| builder.writes.get_mut(task.write));
        let Some(Write::InsertTask(row)) = write else {
            unreachable!("the write was found to insert a task");
        };
        let (queue, name) = (&row.spec.queue, &row.spec.name);
        let now = self.now;
        let parked = self.claims.first_parked(|claim| {
            claim.suits(queue, name) && claim.waits(now) && !suits_any(claim, coming)
        });
        let suits = |it: &HandOff| {
            let claim = match &it.to {
                Recipient::Parked(_, claim) => Some(claim),
                Recipient::SameBatch(_, number) => global[*number].action.claim(),
            };
            it.tasks.len() < it.room && claim.is_some_and(|claim| claim.suits(queue, name))
        };
        let known = (0..recipients.len()).filter(|index| suits(&recipients[*index]));
        let known = known.min_by_key(|index| recipients[*index].ticket());
        let is_first =
            |ticket: &Ticket| known.is_none_or(|index| *ticket < recipients[index].ticket());
        let index = match (parked.filter(is_first), known) {
            (Some(ticket), _) => {
                let claim = self.claims.take_parked(ticket).expect("it was just found");
                let room = claim.max();
                recipients.push(HandOff {
                    to: Recipient::Parked(ticket, claim),
                    room,
                    tasks: Vec::new(),
                });
                recipients.len() - 1
            }
            (None, Some(index)) => index,
            (None, None) => {
                unclaimed.insert((queue.clone(), name.clone()));
                return;
            }
        };
        let recipient = &mut recipients[index];
        let claim = match &recipient.to {
            Recipient::Parked(_, claim) => Some(claim),
            Recipient::SameBatch(_, number) => global[*number].action.claim(),
        };
        let (leased, _) = claim.expect("a recipient has a claim").lease(row, now);
        recipient.tasks.extend(handed_out(&leased, self.epoch).map(|it| (task.entry, it)));
        *row = leased;
    }

    /// Answers the claims that new tasks were handed to, after the commit. Tasks of a turn that had
    /// no effect do not exist: a claim that waited and got no other waits again.
    pub(super) fn finish_hand_offs(
        &mut self,
        handed: Vec<HandOff>,
        done: &BTreeSet<usize>,
        claimed: &mut BTreeMap<usize, Vec<ClaimedTask>>,
    ) {
        // Those that go back to the head of the queue keep their order.
        for HandOff { to, tasks, .. } in handed.into_iter().rev() {
            let tasks = tasks.into_iter().filter(|(entry, _)| done.contains(entry));
            let tasks: Vec<ClaimedTask> = tasks.map(|(_, task)| task).collect();
            self.counters.claimed += tasks.len() as u64;
            self.counters.handed_off += tasks.len() as u64;
            match to {
                Recipient::SameBatch(_, number) => {
                    claimed.entry(number).or_default().extend(tasks);
                }
                Recipient::Parked(ticket, claim) if tasks.is_empty() => {
                    self.claims.park_first(ticket, claim);
                }
                Recipient::Parked(ticket, _) => {
                    self.output(Output::Reply(ticket, Ok(Reply::Tasks(tasks))));
                }
            }
        }
    }

    /// A batch had no effect: the claims that waited wait again, as the first.
    pub(super) fn return_hand_offs(&mut self, batch: &mut Batch) {
        let handed = std::mem::take(&mut batch.handed);
        if !batch.is_answered {
            self.finish_hand_offs(handed, &BTreeSet::new(), &mut BTreeMap::new());
        }
    }
}

fn suits_any(claim: &ParkedClaim, coming: &BTreeSet<(String, String)>) -> bool {
    coming.iter().any(|(queue, name)| claim.suits(queue, name))
}

/// The tasks that the turns of a batch create and that a worker can claim at once.
fn new_tasks(batch: &mut Batch, now: Timestamp) -> Vec<NewTask> {
    let mut tasks = Vec::new();
    for (entry, builder) in batch.turns_mut() {
        for (write, change) in builder.writes.iter().enumerate() {
            let Write::InsertTask(row) = change else { continue };
            let is_ready = row.state == TaskState::Ready
                && row.spec.kind == TaskKind::Worker
                && row.available_at <= now
                && row.deadline_at.is_none_or(|at| at > now);
            // A task that its own turn has cancelled again is deleted by a later write.
            if is_ready && !builder.changed.contains_key(&row.id) {
                let order = (Reverse(row.spec.priority), row.available_at, row.id);
                tasks.push(NewTask { order, entry, write });
            }
        }
    }
    tasks
}
