//! One instance, summarized from its history alone.

use std::collections::BTreeMap;

use meantime_core::{EffectKey, TaskId, Timestamp};
use meantime_kernel::history::Record;
use meantime_kernel::open::Key;
use meantime_kernel::store::{HistoryRow, InstanceRow};

/// What the history of an instance says.
#[derive(Debug, Default)]
pub(super) struct InstanceSummary {
    tasks: BTreeMap<EffectKey, TaskCounts>,
    /// Signals that were taken.
    pub(super) signals: usize,
    /// Timers that have fired.
    pub(super) fired: usize,
    pub(super) problems: Vec<String>,
}

#[derive(Debug, Default)]
struct TaskCounts {
    scheduled: usize,
    outcomes: usize,
    cancelled: usize,
}

impl InstanceSummary {
    /// Reads a history, oldest row first, and compares it with the row of its instance.
    pub(super) fn read(row: &InstanceRow, history: &[HistoryRow]) -> Self {
        let mut summary = Self::default();
        summary.check_turns(row, history);
        for turn in history {
            for record in &turn.records {
                summary.add_record(record, turn.at);
            }
        }
        summary.check_tasks(row);
        summary
    }

    /// How often a task of this instance was completed or failed for good.
    pub(super) fn outcomes(&self, key: EffectKey) -> usize {
        self.tasks.get(&key).map_or(0, |task| task.outcomes)
    }

    /// Tasks that have an outcome.
    pub(super) fn tasks_with_outcome(&self) -> impl Iterator<Item = TaskId> {
        self.tasks.iter().filter(|(_, task)| task.outcomes > 0).map(|(key, _)| TaskId(*key))
    }

    /// How many tasks have exactly one outcome.
    pub(super) fn completed_tasks(&self) -> usize {
        self.tasks.values().filter(|task| task.outcomes == 1).count()
    }

    /// Turn numbers go from 1 to the number in the row without a gap, and time does not run
    /// backwards (K2). Results of task attempts are recorded between turns, with the number of the
    /// last turn.
    fn check_turns(&mut self, row: &InstanceRow, history: &[HistoryRow]) {
        let (mut expected, mut before) = (1, Timestamp::MIN);
        for turn in history {
            let is_attempt = |record: &Record| {
                matches!(record, Record::AttemptFailed { .. } | Record::LeaseExpired { .. })
            };
            let is_between = turn.turn_no + 1 == expected && turn.records.iter().all(is_attempt);
            if turn.turn_no != expected && !is_between {
                self.add_problem(format!("turn {expected} is not there, but {}", turn.turn_no));
            }
            if turn.at < before {
                self.add_problem(format!("turn {} is earlier than the one before", turn.turn_no));
            }
            (expected, before) = (turn.turn_no + 1, turn.at);
        }
        if expected != row.turn_no + 1 {
            self.add_problem(format!("turn {} has no history", row.turn_no));
        }
    }

    fn add_record(&mut self, record: &Record, at: Timestamp) {
        match record {
            Record::TimerFired { key, due_at, .. } => {
                self.fired += 1;
                if at < *due_at {
                    self.add_problem(format!("timer {key} fired early: due {due_at}, fired {at}"));
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
    fn check_tasks(&mut self, row: &InstanceRow) {
        let tasks = std::mem::take(&mut self.tasks);
        for (key, task) in &tasks {
            let open = usize::from(row.open.tasks.contains_key(&Key::from(*key)));
            if (task.scheduled, task.outcomes + task.cancelled + open) != (1, 1) {
                self.add_problem(format!("task {key}: {task:?}, open {open}"));
            }
        }
        self.tasks = tasks;
    }

    fn add_problem(&mut self, problem: String) {
        self.problems.push(problem);
    }
}
