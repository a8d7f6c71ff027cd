//! One instance, read from its history alone: nobody listened to its turns.

use std::collections::BTreeMap;

use meantime_core::{EffectKey, TaskId, Timestamp};
use meantime_kernel::history::Record;
use meantime_kernel::open::Key;
use meantime_kernel::store::{HistoryRow, InstanceRow};

/// What a history says.
#[derive(Debug, Default)]
pub(super) struct Story {
    tasks: BTreeMap<EffectKey, Task>,
    /// Signals that were taken.
    pub(super) signals: usize,
    /// Timers that have fired.
    pub(super) fired: usize,
    pub(super) problems: Vec<String>,
}

#[derive(Debug, Default)]
struct Task {
    scheduled: usize,
    outcomes: usize,
    cancelled: usize,
}

impl Story {
    /// Reads a history, oldest row first, and holds it against its instance.
    pub(super) fn read(row: &InstanceRow, history: &[HistoryRow]) -> Self {
        let mut story = Self::default();
        story.turns(row, history);
        for turn in history {
            for record in &turn.records {
                story.record(record, turn.at);
            }
        }
        story.tasks_have_one_end(row);
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

    /// Turn numbers go from 1 to the row's without a gap, and time does not run backwards (K2).
    /// What became of an attempt of a task is told between turns, under the number of the last one.
    fn turns(&mut self, row: &InstanceRow, history: &[HistoryRow]) {
        let (mut expected, mut before) = (1, Timestamp::MIN);
        for turn in history {
            let is_attempt = |record: &Record| {
                matches!(record, Record::AttemptFailed { .. } | Record::LeaseExpired { .. })
            };
            let is_between = turn.turn_no + 1 == expected && turn.records.iter().all(is_attempt);
            if turn.turn_no != expected && !is_between {
                self.problem(format!("turn {expected} is not there, but {}", turn.turn_no));
            }
            if turn.at < before {
                self.problem(format!("turn {} is earlier than the one before", turn.turn_no));
            }
            (expected, before) = (turn.turn_no + 1, turn.at);
        }
        if expected != row.turn_no + 1 {
            self.problem(format!("turn {} has no history", row.turn_no));
        }
    }

    fn record(&mut self, record: &Record, at: Timestamp) {
        match record {
            Record::TimerFired { key, due_at, .. } => {
                self.fired += 1;
                if at < *due_at {
                    self.problem(format!("timer {key} fired early: due {due_at}, fired {at}"));
                }
            }
            Record::TaskScheduled { key, .. } => {
                self.tasks.entry(*key).or_default().scheduled += 1;
            }
            Record::TaskCancelled { key, .. } => {
                self.tasks.entry(*key).or_default().cancelled += 1;
            }
            Record::Event { name, key: Some(key), taken: true, .. }
                if matches!(name.as_str(), "taskCompleted" | "taskFailed") =>
            {
                self.tasks.entry(*key).or_default().outcomes += 1;
            }
            Record::Event { name, taken: true, .. } if name == "signal" => self.signals += 1,
            _ => {}
        }
    }

    /// Every task has one outcome, or was cancelled, or is open (K3).
    fn tasks_have_one_end(&mut self, row: &InstanceRow) {
        let tasks = std::mem::take(&mut self.tasks);
        for (key, task) in &tasks {
            let open = usize::from(row.open.tasks.contains_key(&Key::from(*key)));
            if (task.scheduled, task.outcomes + task.cancelled + open) != (1, 1) {
                self.problem(format!("task {key}: {task:?}, open {open}"));
            }
        }
        self.tasks = tasks;
    }

    fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }
}
