//! The committed changes, commit by commit, observed between the machines and the store.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use meantime_core::{Event, InstanceId, TaskId};
use meantime_kernel::history::{Record, pack};
use meantime_kernel::store::{
    Fence, InstanceRow, Phase, Plan, TaskState, TimerKind, Unit, UnitResult, Write,
};

use super::coverage_counts::{CountGroup, CoverageCounts, EVENT_NAMES, HAND_OFF, LOST_HAND_OFF};
use crate::checker::{self, CommittedTurn, ObservedTurn, TaskChange, Violation};

/// Everything that was committed.
#[derive(Debug, Default)]
pub(super) struct CommitLog {
    /// Rows as the last turn wrote them.
    pub(super) rows: BTreeMap<InstanceId, InstanceRow>,
    /// Ids of instances that have not ended, also of those that wait for their first turn.
    pub(super) live: BTreeSet<InstanceId>,
    pub(super) accepted: BTreeSet<InstanceId>,
    pub(super) turns: BTreeMap<InstanceId, Vec<ObservedTurn>>,
    /// All tasks that were ever scheduled, with their number of claims; `None` after deletion.
    pub(super) tasks: BTreeMap<TaskId, Option<u32>>,
    /// Serial numbers of payloads that an incident held.
    pub(super) held: BTreeSet<u64>,
    /// The hash of the history after each commit.
    pub(super) hashes: Vec<u64>,
    /// Tasks that were leased in the commit that created them, whose worker has no answer yet.
    handed_off: BTreeSet<TaskId>,
    history_numbers: checker::HistoryNumbers,
    hasher: DefaultHasher,
}

impl CommitLog {
    /// Records a committed plan and the results of its units.
    pub(super) fn record_commit(
        &mut self,
        plan: Plan,
        results: &[UnitResult],
        computed: Vec<ObservedTurn>,
        counts: &mut CoverageCounts,
        violations: &mut Vec<Violation>,
    ) {
        counts.commits += 1;
        plan.now.as_millis().hash(&mut self.hasher);
        let mut computed = computed;
        for (unit, result) in plan.units.into_iter().zip(results) {
            let UnitResult::Done(done) = result else { continue };
            self.accepted.extend(&done.accepted);
            self.live.extend(&done.accepted);
            done.accepted.hash(&mut self.hasher);
            let Unit { fence, writes, .. } = unit;
            if let Fence::Task { row, claims } = &fence {
                self.change_task(row.id, Some(*claims), Some(row.claims), violations);
                if self.handed_off.remove(&row.id) {
                    counts.count(CountGroup::Observation, LOST_HAND_OFF);
                }
            }
            for write in &writes {
                self.record_write(write, counts, violations);
            }
            let (Fence::Insert(row) | Fence::Turn { row, .. }) = &fence else { continue };
            let place = computed.iter().position(|turn| {
                turn.instance == row.id && turn.turn_no == row.turn_no && is_result_of(turn, row)
            });
            let before = self.rows.get(&row.id);
            // The first match counts: of two attempts at the same turn the later one comes first.
            let mut turn = place.map(|place| computed.remove(place));
            let advanced = before.is_none_or(|before| before.turn_no < row.turn_no);
            if let Some(turn) = &mut turn {
                turn.phase = before.map_or(Phase::Starting, |row| row.phase);
                turn.committed_at = plan.now;
            }
            let step = CommittedTurn {
                now: plan.now,
                before,
                after: row,
                fence: &fence,
                writes: &writes,
                turn: turn.as_ref().filter(|_| advanced),
            };
            checker::check_commit(&step, violations);
            counts.turns += 1;
            count_turn(&step, counts);
            self.record_turn(fence, turn.filter(|_| advanced));
        }
        self.hashes.push(self.hasher.finish());
    }

    fn record_write(
        &mut self,
        write: &Write,
        counts: &mut CoverageCounts,
        violations: &mut Vec<Violation>,
    ) {
        match write {
            Write::InsertTask(row) => {
                self.tasks.insert(row.id, Some(row.claims));
                if row.state == TaskState::Leased {
                    counts.count(CountGroup::Observation, HAND_OFF);
                    self.handed_off.insert(row.id);
                }
            }
            Write::UpdateTask { row, claims } => {
                self.change_task(row.id, Some(*claims), Some(row.claims), violations);
            }
            Write::DeleteTask { id, claims } => self.change_task(*id, *claims, None, violations),
            Write::PutInbox(row) if row.held.is_some() => {
                if let Event::Message { payload, .. } | Event::Signal { payload, .. } = &row.event {
                    self.held.extend(checker::payload_serial(payload));
                }
            }
            Write::History(row) => {
                checker::check_history_number(
                    &mut self.history_numbers,
                    row.seq,
                    row.instance,
                    violations,
                );
                pack(&row.records).hash(&mut self.hasher);
            }
            _ => {}
        }
    }

    fn change_task(
        &mut self,
        task: TaskId,
        expected: Option<u32>,
        after: Option<u32>,
        violations: &mut Vec<Violation>,
    ) {
        let before = self.tasks.insert(task, after).flatten();
        checker::check_task_change(TaskChange { task, before, expected, after }, violations);
    }

    fn record_turn(&mut self, fence: Fence, turn: Option<ObservedTurn>) {
        let (Fence::Insert(row) | Fence::Turn { row, .. }) = fence else { return };
        (row.id, row.turn_no, row.phase.name()).hash(&mut self.hasher);
        row.state.bytes.hash(&mut self.hasher);
        if row.phase.is_ended() {
            self.live.remove(&row.id);
        } else {
            self.live.insert(row.id);
        }
        self.accepted.insert(row.id);
        if let Some(turn) = turn {
            self.turns.entry(row.id).or_default().push(turn);
        }
        self.rows.insert(row.id, Arc::unwrap_or_clone(row));
    }

    /// A worker has the answer to its claim.
    pub(super) fn record_delivery(&mut self, task: TaskId) {
        self.handed_off.remove(&task);
    }

    /// Adds a reply to the hash: replies are part of the history.
    pub(super) fn hash_reply(&mut self, text: &str) {
        text.hash(&mut self.hasher);
    }

    /// The hash of everything so far.
    pub(super) fn hash(&self) -> u64 {
        self.hasher.finish()
    }
}

/// Whether a row is the result of a turn; a turn that faulted does not use up a number.
fn is_result_of(turn: &ObservedTurn, row: &InstanceRow) -> bool {
    row.phase.is_ended() || turn.after == row.state
}

fn count_turn(step: &CommittedTurn<'_>, counts: &mut CoverageCounts) {
    let phase = step.before.map_or(Phase::Starting, |row| row.phase).name();
    for record in step.records() {
        let name = match record {
            Record::Started { .. } => "start",
            Record::TimerFired { kind: TimerKind::Element, .. } => "timerFired",
            Record::Event { name, .. } => {
                EVENT_NAMES.into_iter().find(|it| it == name).unwrap_or("")
            }
            _ => continue,
        };
        *counts.coverage.entry((name, phase)).or_default() += 1;
    }
    let Some(turn) = step.turn else { return };
    if turn.events().any(|(event, _)| matches!(event, Event::Continue)) {
        *counts.coverage.entry(("continue", phase)).or_default() += 1;
    }
    for effect in &turn.effects {
        counts.count(CountGroup::Effect, effect.name());
    }
}
