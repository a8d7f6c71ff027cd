//! One instance, read from its history: what was armed and what became of it.

use std::collections::BTreeMap;

use meantime_core::{EffectKey, TaskId, Timestamp};
use meantime_kernel::history::Record;
use meantime_kernel::open::Key;
use meantime_kernel::store::{HistoryRow, InstanceRow};

/// What a history says.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Timers by their effect: armed, fired, withdrawn.
    timers: BTreeMap<EffectKey, Timer>,
    /// Tasks by their effect: scheduled, outcomes, withdrawn.
    tasks: BTreeMap<EffectKey, Task>,
    pub(super) signals: usize,
    pub(super) fired: usize,
    ends: usize,
    pub(super) problems: Vec<String>,
}

#[derive(Debug, Default)]
struct Timer {
    armed: usize,
    fired: usize,
    withdrawn: usize,
}

#[derive(Debug, Default)]
struct Task {
    scheduled: usize,
    outcomes: usize,
    withdrawn: usize,
}

impl Story {
    /// Reads a history, newest row first, and holds it against its instance.
    pub(super) fn read(row: &InstanceRow, history: &[HistoryRow]) -> Self {
        let mut story = Self::default();
        story.turns(row, history);
        for turn in history.iter().rev() {
            for record in &turn.records {
                story.record(record, turn.at);
            }
        }
        story.settle(row);
        story
    }

    /// How often a task of this instance was completed or failed for good.
    pub(super) fn outcomes(&self, key: EffectKey) -> usize {
        self.tasks.get(&key).map_or(0, |task| task.outcomes)
    }

    /// Tasks that have an outcome.
    pub(super) fn with_outcome(&self) -> impl Iterator<Item = TaskId> {
        self.tasks.iter().filter(|(_, task)| task.outcomes > 0).map(|(key, _)| TaskId(*key))
    }

    /// How many tasks have their one outcome.
    pub(super) fn done(&self) -> usize {
        self.tasks.values().filter(|task| task.outcomes == 1).count()
    }

    fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Turn numbers go from 1 to the row's without a gap, and time does not run backwards.
    fn turns(&mut self, row: &InstanceRow, history: &[HistoryRow]) {
        let mut expected = row.turn_no;
        let mut before: Option<Timestamp> = None;
        for turn in history {
            if turn.instance != row.id {
                self.problem(format!("history row {} belongs to {}", turn.seq, turn.instance));
            }
            if turn.turn_no != expected {
                self.problem(format!("turn {expected} is not there, but {}", turn.turn_no));
            }
            if before.is_some_and(|later| later < turn.at) {
                self.problem(format!("turn {} is later than the one after it", turn.turn_no));
            }
            before = Some(turn.at);
            expected = turn.turn_no.saturating_sub(1);
        }
        if expected != 0 {
            self.problem(format!("the history ends before turn {expected}"));
        }
    }

    fn record(&mut self, record: &Record, at: Timestamp) {
        if self.ends > 0 {
            self.problem(format!("something happened after the end: {record:?}"));
        }
        match record {
            Record::TimerArmed { key, .. } => self.timers.entry(*key).or_default().armed += 1,
            Record::TimerFired { key, due_at, .. } => {
                self.fired += 1;
                self.timers.entry(*key).or_default().fired += 1;
                if at < *due_at {
                    self.problem(format!("timer {key} fired early: due {due_at}, fired {at}"));
                }
            }
            Record::TimerCancelled { key, .. } => {
                self.timers.entry(*key).or_default().withdrawn += 1;
            }
            Record::TaskScheduled { key, .. } => {
                self.tasks.entry(*key).or_default().scheduled += 1;
            }
            Record::TaskWithdrawn { key, .. } => {
                self.tasks.entry(*key).or_default().withdrawn += 1;
            }
            Record::Event { name, key: Some(key), taken: true, .. } if name == "taskDone" => {
                self.tasks.entry(*key).or_default().outcomes += 1;
            }
            Record::Event { name, taken: true, .. } if name == "signal" => self.signals += 1,
            Record::Ended { .. } => self.ends += 1,
            _ => {}
        }
    }

    /// Everything that was begun has come to one end, or is still open.
    fn settle(&mut self, row: &InstanceRow) {
        for (key, timer) in std::mem::take(&mut self.timers) {
            let open = usize::from(row.open.timers.contains_key(&Key::from(key)));
            if (timer.armed, timer.fired + timer.withdrawn + open) != (1, 1) {
                self.problem(format!("timer {key}: {timer:?}, open {open}"));
            }
        }
        let tasks = std::mem::take(&mut self.tasks);
        for (key, task) in &tasks {
            let open = usize::from(row.open.tasks.contains_key(&Key::from(*key)));
            if (task.scheduled, task.outcomes + task.withdrawn + open) != (1, 1) {
                self.problem(format!("task {key}: {task:?}, open {open}"));
            }
        }
        self.tasks = tasks;
        if self.ends != usize::from(row.phase.is_ended()) {
            self.problem(format!("{} ends, and it is {}", self.ends, row.phase.name()));
        }
        let is_idle = row.open.timers.is_empty() && row.open.tasks.is_empty();
        if row.phase.is_ended() && !is_idle {
            self.problem("it is over and something is open");
        }
    }
}
