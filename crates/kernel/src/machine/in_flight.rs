//! The batches in flight: read, computed or committed, by their number.
//!
//! A batch leaves only with its answer, so an answer always finds its batch. One that does not is a
//! bug of the machine or of what drives it, and ends the process: to skip it would lose the events
//! of the batch.

use std::collections::BTreeMap;

use meantime_core::{Fault, Timestamp, Turn};

use super::batch::Batch;
use super::claim::ParkedClaim;
use super::global_queue::GlobalCommand;
use super::io::Ticket;
use super::mailbox::PendingItem;

/// The turns of a batch, in the order of its jobs; none for a job that takes long.
pub(super) type ComputedTurns = Vec<Option<Result<Turn, Fault>>>;

/// The batches in flight, and how they and their commits are numbered.
pub(super) struct BatchesInFlight {
    by_number: BTreeMap<u64, Batch>,
    next: u64,
    /// Commits have numbers of their own: they are numbered in the order in which they reach the
    /// store, so its last number tells whether an ambiguous commit took effect (I2).
    next_commit: u64,
}

impl Default for BatchesInFlight {
    fn default() -> Self {
        Self { by_number: BTreeMap::new(), next: 1, next_commit: 1 }
    }
}

impl BatchesInFlight {
    /// The next commit follows the last one that the store has.
    pub(super) fn continue_after(&mut self, commit: u64) {
        self.next_commit = commit.saturating_add(1);
    }

    /// Adds a batch under a new number.
    pub(super) fn begin(&mut self, batch: Batch) -> u64 {
        let number = self.next;
        self.next += 1;
        self.by_number.insert(number, batch);
        number
    }

    /// Takes a batch out, because its answer has come.
    pub(super) fn take(&mut self, number: u64) -> Batch {
        self.by_number.remove(&number).expect("an answer is for a batch in flight")
    }

    /// Puts a batch back that waits for its next answer.
    pub(super) fn put_back(&mut self, number: u64, batch: Batch) {
        let other = self.by_number.insert(number, batch);
        assert!(other.is_none(), "a number is that of one batch");
    }

    pub(super) fn get(&self, number: u64) -> Option<&Batch> {
        self.by_number.get(&number)
    }

    /// A number for the commit of a batch that reaches the store now.
    pub(super) fn number_commit(&mut self) -> u64 {
        let commit = self.next_commit;
        self.next_commit += 1;
        commit
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    pub(super) fn any(&self, holds: impl Fn(&Batch) -> bool) -> bool {
        self.by_number.values().any(holds)
    }

    /// When the oldest of them began, in real time.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.by_number.values().map(|batch| batch.begun).min()
    }

    /// Whether an earlier batch fires timers and has no commit number yet. Timers fire in due
    /// order, however long their turns take to read and compute (T8). A slow turn has left its
    /// batch and does not count.
    pub(super) fn waits_for_timers(&self, number: u64) -> bool {
        let fires = |batch: &Batch| batch.fires && batch.commit == 0;
        self.get(number).is_some_and(|batch| batch.fires)
            && self.by_number.range(..number).any(|(_, batch)| fires(batch))
    }

    /// Keeps the turns of a batch that waits for an earlier one.
    pub(super) fn hold(&mut self, number: u64, turns: ComputedTurns) {
        let mut batch = self.take(number);
        batch.held = Some(turns);
        self.put_back(number, batch);
    }

    /// The next batch that was held and waits no longer, with its turns.
    pub(super) fn take_held(&mut self) -> Option<(u64, ComputedTurns)> {
        let held = self.by_number.iter().filter(|(_, batch)| batch.held.is_some());
        let next =
            held.map(|(number, _)| *number).find(|number| !self.waits_for_timers(*number))?;
        let turns = self.by_number.get_mut(&next)?.held.take()?;
        Some((next, turns))
    }

    /// Adds a slow turn to its batch, if that is held without it; otherwise gives it back.
    pub(super) fn complete_held(
        &mut self,
        number: u64,
        job: usize,
        turn: Result<Turn, Fault>,
    ) -> Option<Result<Turn, Fault>> {
        let held = self.by_number.get_mut(&number).and_then(|batch| batch.held.as_mut());
        match held.and_then(|turns| turns.get_mut(job)) {
            Some(missing @ None) => {
                *missing = Some(turn);
                None
            }
            _ => Some(turn),
        }
    }

    /// Whether the command of a caller is in one of them.
    pub(super) fn has_pending(&self, ticket: Ticket) -> bool {
        let of_caller = |pending: &PendingItem| pending.ticket == Some(ticket);
        self.any(|batch| {
            batch.entries.iter().any(|entry| entry.items.iter().any(of_caller))
                || batch.global.iter().any(|global| global.ticket == Some(ticket))
        })
    }

    /// The items of instances in them.
    pub(super) fn items_mut(&mut self) -> impl Iterator<Item = &mut PendingItem> {
        let entries = self.by_number.values_mut().flat_map(|batch| &mut batch.entries);
        entries.flat_map(|entry| &mut entry.items)
    }

    /// Queue and type of the tasks that their commits will make ready.
    pub(super) fn unclaimed(&self) -> impl Iterator<Item = &(String, String)> {
        self.by_number.values().flat_map(|batch| &batch.unclaimed)
    }

    /// The claim of a caller that waited, if one of them hands tasks to it.
    pub(super) fn handed_mut(&mut self, caller: Ticket) -> Option<&mut ParkedClaim> {
        let mut handed = self.by_number.values_mut().flat_map(|batch| &mut batch.handed);
        handed.find_map(|it| it.parked_mut(caller))
    }

    /// The global commands in them.
    pub(super) fn global_mut(&mut self) -> impl Iterator<Item = &mut GlobalCommand> {
        self.by_number.values_mut().flat_map(|batch| &mut batch.global)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fires() -> Batch {
        let mut batch = Batch::default();
        batch.fires = true;
        batch
    }

    #[test]
    fn t8_a_batch_with_timers_waits_until_the_earlier_ones_are_numbered() {
        let mut batches = BatchesInFlight::default();
        let (first, second) = (batches.begin(fires()), batches.begin(fires()));
        let third = batches.begin(Batch::default());
        assert!(!batches.waits_for_timers(first) && batches.waits_for_timers(second));
        assert!(!batches.waits_for_timers(third), "it fires none");
        batches.hold(second, vec![None]);
        assert!(batches.take_held().is_none());
        let mut batch = batches.take(first);
        batch.commit = batches.number_commit();
        batches.put_back(first, batch);
        assert_eq!(batches.take_held().map(|(number, _)| number), Some(second));
        assert!(batches.take_held().is_none(), "it was taken");
    }

    #[test]
    fn a_slow_turn_joins_its_batch_while_that_is_held() {
        let mut batches = BatchesInFlight::default();
        let number = batches.begin(fires());
        let fault = || Err(Fault::new("slow", "it took long"));
        assert!(batches.complete_held(number, 0, fault()).is_some(), "it is not held");
        batches.hold(number, vec![None]);
        assert!(batches.complete_held(number, 0, fault()).is_none());
        assert!(batches.complete_held(number, 0, fault()).is_some(), "it has that turn");
        assert!(batches.complete_held(number, 1, fault()).is_some(), "it has no such turn");
    }

    #[test]
    fn commits_go_on_with_the_number_of_the_store() {
        let mut batches = BatchesInFlight::default();
        batches.continue_after(41);
        assert_eq!((batches.number_commit(), batches.number_commit()), (42, 43));
    }

    #[test]
    #[should_panic = "an answer is for a batch in flight"]
    fn an_answer_for_no_batch_ends_the_process() {
        let mut batches = BatchesInFlight::default();
        let number = batches.begin(Batch::default());
        batches.take(number);
        batches.take(number);
    }
}
