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

#[cfg(test)]
mod tests {
    use meantime_core::{DefinitionId, InstanceId, Json, TaskSpec};

    use super::super::batch::BatchEntry;
    use super::super::definitions::Notations;
    use super::super::engine::Config;
    use super::super::global_queue::{GlobalAction, GlobalCommand};
    use super::super::turn_builder::TurnBuilder;
    use super::*;
    use crate::command::ClaimCommand;
    use crate::random::SeededEntropy;
    use crate::store::{InstanceRow, TaskRow};

    const DEFINITION: DefinitionId = DefinitionId(1);

    fn machine(waiting: &[u64]) -> Machine {
        let entropy = Box::new(SeededEntropy::new(1));
        let mut machine = Machine::new(Config::default(), Notations::default(), entropy);
        for number in waiting {
            machine.claims.park(Ticket(*number), claim(&machine));
        }
        machine
    }

    /// A claim for one task that waits for a second.
    fn claim(machine: &Machine) -> ParkedClaim {
        let types = vec!["mail".to_owned()];
        let (max, lease_ms, wait_ms) = (1, 1_000, 1_000);
        let command = ClaimCommand { types, max, lease_ms, wait_ms, ..ClaimCommand::default() };
        ParkedClaim::new(command, Timestamp::default(), &machine.limits)
    }

    fn task(number: u32, priority: i32) -> TaskRow {
        let id = TaskId(InstanceId::new(1, 1).effect(1, number));
        let spec = TaskSpec { priority, ..TaskSpec::worker("mail", "send", Json::null()) };
        TaskRow::ready(id, spec, DEFINITION, Timestamp::default())
    }

    /// A batch with one turn that creates these tasks.
    fn batch(tasks: Vec<TaskRow>) -> Batch {
        let id = InstanceId::new(1, 1);
        let mut builder =
            TurnBuilder::new(InstanceRow::accepted(id, DEFINITION, Timestamp::default()), false);
        builder.writes = tasks.into_iter().map(|it| Write::InsertTask(Box::new(it))).collect();
        let mut batch = Batch::default();
        batch.entries.push(BatchEntry::new(id));
        batch.add_turn(0, Box::new(builder));
        batch
    }

    /// The callers that are answered, with the tasks they get.
    fn answers(machine: &mut Machine) -> Vec<(Ticket, Vec<TaskId>)> {
        let outputs = std::mem::take(&mut machine.outputs);
        let answers = outputs.into_iter().filter_map(|output| match output {
            Output::Reply(ticket, Ok(Reply::Tasks(tasks))) => Some((ticket, tasks)),
            _ => None,
        });
        answers.map(|(ticket, tasks)| (ticket, tasks.iter().map(|it| it.id).collect())).collect()
    }

    fn finish(machine: &mut Machine, batch: &mut Batch, done: &[usize]) {
        let handed = std::mem::take(&mut batch.handed);
        let done = done.iter().copied().collect();
        machine.finish_hand_offs(handed, &done, &mut BTreeMap::new());
    }

    #[test]
    fn the_best_task_goes_to_the_claim_that_waits_longest_and_is_written_as_leased() {
        let mut machine = machine(&[1, 2]);
        let mut batch = batch(vec![task(0, 0), task(1, 5), task(2, 0)]);
        machine.hand_off(&mut batch);
        let writes = &batch.entries[0].builder.as_ref().expect("a turn").writes;
        let states: Vec<TaskState> = writes
            .iter()
            .map(|write| match write {
                Write::InsertTask(row) => row.state,
                _ => unreachable!("only tasks are created"),
            })
            .collect();
        assert_eq!(states, [TaskState::Leased, TaskState::Leased, TaskState::Ready]);
        assert_eq!(batch.unclaimed.len(), 1, "the third is left to others");
        assert!(answers(&mut machine).is_empty(), "nothing is answered before the commit");
        finish(&mut machine, &mut batch, &[0]);
        let mut answers = answers(&mut machine);
        answers.sort_unstable();
        let (first, second) = (task(1, 5).id, task(0, 0).id);
        assert_eq!(answers, [(Ticket(1), vec![first]), (Ticket(2), vec![second])]);
        assert_eq!((machine.counters.claimed, machine.counters.handed_off), (2, 2));
    }

    #[test]
    fn a_claim_whose_task_does_not_exist_waits_again_before_all_others() {
        let mut machine = machine(&[1]);
        let mut batch = batch(vec![task(0, 0)]);
        machine.hand_off(&mut batch);
        assert_eq!(batch.handed[0].parked_ticket(), Some(Ticket(1)));
        machine.claims.park(Ticket(2), claim(&machine));
        finish(&mut machine, &mut batch, &[]);
        assert!(answers(&mut machine).is_empty());
        assert_eq!(machine.claims.first_parked(|_| true), Some(Ticket(1)));
        assert_eq!(machine.counters.handed_off, 0);
    }

    #[test]
    fn a_claim_of_the_same_batch_gets_what_its_query_left_room_for() {
        let mut machine = machine(&[]);
        let mut batch = batch(vec![task(0, 0), task(1, 0)]);
        let action = GlobalAction::Claim(claim(&machine));
        batch.global.push(GlobalCommand { action, ticket: Some(Ticket(3)), over: false });
        batch.rooms.push((0, 1));
        machine.hand_off(&mut batch);
        assert_eq!(batch.handed.len(), 1);
        let handed = std::mem::take(&mut batch.handed);
        let mut claimed = BTreeMap::new();
        machine.finish_hand_offs(handed, &BTreeSet::from([0]), &mut claimed);
        let ids: Vec<TaskId> = claimed[&0].iter().map(|it| it.id).collect();
        assert_eq!(ids, [task(0, 0).id], "one, as it asked for");
    }

    #[test]
    fn tasks_that_are_not_ready_or_are_cancelled_in_their_turn_are_not_handed_off() {
        let mut machine = machine(&[1]);
        let later = Timestamp::default().saturating_add_millis(1);
        let delayed = TaskRow { available_at: later, ..task(0, 0) };
        let over = TaskRow { deadline_at: Some(Timestamp::default()), ..task(1, 0) };
        let mut batch = batch(vec![delayed, over, task(2, 0)]);
        let builder = batch.entries[0].builder.as_mut().expect("a turn");
        builder.delete_task(task(2, 0).id, None);
        machine.hand_off(&mut batch);
        assert!(batch.handed.is_empty());
        assert_eq!(machine.claims.first_parked(|_| true), Some(Ticket(1)), "it still waits");
    }
}
