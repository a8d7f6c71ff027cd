//! What took effect, commit by commit, as seen between the machines and the store.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use meantime_core::{Event, InstanceId, TaskId};
use meantime_kernel::history::{Record, pack};
use meantime_kernel::store::{Fence, InstanceRow, Phase, Plan, TimerKind, Unit, UnitResult, Write};

use super::tally::{EVENTS, Group, Tally};
use crate::checker::{self, Step, TaskStep, TurnSeen, Violation};

/// Everything that was committed.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// Rows as their last turn left them.
    pub(super) rows: BTreeMap<InstanceId, InstanceRow>,
    /// Those of them that are not over, and those that wait for their first turn.
    pub(super) live: BTreeSet<InstanceId>,
    pub(super) accepted: BTreeSet<InstanceId>,
    pub(super) turns: BTreeMap<InstanceId, Vec<TurnSeen>>,
    /// Tasks that were scheduled, ever, and how often each was claimed; none when it is gone.
    pub(super) tasks: BTreeMap<TaskId, Option<u32>>,
    /// Numbers of payloads that an incident held back.
    pub(super) held: BTreeSet<u64>,
    /// The hash of the history after each commit.
    pub(super) hashes: Vec<u64>,
    numbers: checker::Numbers,
    hasher: DefaultHasher,
}

impl Journal {
    /// A plan was committed, and this became of its units.
    pub(super) fn committed(
        &mut self,
        plan: Plan,
        results: &[UnitResult],
        computed: Vec<TurnSeen>,
        tally: &mut Tally,
        found: &mut Vec<Violation>,
    ) {
        tally.commits += 1;
        plan.now.as_millis().hash(&mut self.hasher);
        let mut computed = computed;
        for (unit, result) in plan.units.into_iter().zip(results) {
            let UnitResult::Done(done) = result else { continue };
            self.accepted.extend(&done.accepted);
            self.live.extend(&done.accepted);
            done.accepted.hash(&mut self.hasher);
            let Unit { fence: guard, writes, .. } = unit;
            if let Fence::Task { row, claims } = &guard {
                self.change_task(row.id, Some(*claims), Some(row.claims), found);
            }
            for write in &writes {
                self.note(write, found);
            }
            let (Fence::Insert(row) | Fence::Turn { row, .. }) = &guard else { continue };
            let place = computed.iter().position(|turn| {
                turn.instance == row.id && turn.turn_no == row.turn_no && is_of(turn, row)
            });
            let before = self.rows.get(&row.id);
            // In order: of two attempts at the same turn the later one comes first.
            let mut turn = place.map(|place| computed.remove(place));
            let advanced = before.is_none_or(|before| before.turn_no < row.turn_no);
            if let Some(turn) = &mut turn {
                turn.phase = before.map_or(Phase::Starting, |row| row.phase);
                turn.committed_at = plan.now;
            }
            let step = Step {
                now: plan.now,
                before,
                after: row,
                guard: &guard,
                writes: &writes,
                turn: turn.as_ref().filter(|_| advanced),
            };
            checker::anytime(&step, found);
            tally.turns += 1;
            count(&step, tally);
            self.keep(guard, turn.filter(|_| advanced));
        }
        self.hashes.push(self.hasher.finish());
    }

    fn note(&mut self, write: &Write, found: &mut Vec<Violation>) {
        match write {
            Write::InsertTask(row) => {
                self.tasks.insert(row.id, Some(row.claims));
            }
            Write::UpdateTask { row, claims } => {
                self.change_task(row.id, Some(*claims), Some(row.claims), found);
            }
            Write::DeleteTask { id, claims } => self.change_task(*id, *claims, None, found),
            Write::PutInbox(row) if row.held.is_some() => {
                if let Event::Message { payload, .. } | Event::Signal { payload, .. } = &row.event {
                    self.held.extend(checker::serial(payload));
                }
            }
            Write::History(row) => {
                checker::anytime_number(&mut self.numbers, row.seq, row.instance, found);
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
        found: &mut Vec<Violation>,
    ) {
        let before = self.tasks.insert(task, after).flatten();
        checker::anytime_task(TaskStep { task, before, expected, after }, found);
    }

    fn keep(&mut self, fence: Fence, turn: Option<TurnSeen>) {
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
        self.rows.insert(row.id, *row);
    }

    /// What callers were told is part of the history.
    pub(super) fn told(&mut self, text: &str) {
        text.hash(&mut self.hasher);
    }

    /// The hash of everything so far.
    pub(super) fn hash(&self) -> u64 {
        self.hasher.finish()
    }
}

/// Whether a row is what a turn left: a turn that faulted has the number of none.
fn is_of(turn: &TurnSeen, row: &InstanceRow) -> bool {
    row.phase.is_ended() || turn.after == row.state
}

fn count(step: &Step<'_>, tally: &mut Tally) {
    let phase = step.before.map_or(Phase::Starting, |row| row.phase).name();
    for record in step.records() {
        let name = match record {
            Record::Started { .. } => "start",
            Record::TimerFired { kind: TimerKind::Element, .. } => "timerFired",
            Record::Event { name, .. } => EVENTS.into_iter().find(|it| it == name).unwrap_or(""),
            _ => continue,
        };
        *tally.coverage.entry((name, phase)).or_default() += 1;
    }
    let Some(turn) = step.turn else { return };
    if turn.events().any(|(event, _)| matches!(event, Event::Continue)) {
        *tally.coverage.entry(("continue", phase)).or_default() += 1;
    }
    for effect in &turn.effects {
        tally.count(Group::Effect, effect.name());
    }
}
