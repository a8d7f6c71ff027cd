//! Numbers that grow by one, or are used once: claims of tasks and rows of the history.
//!
//! Ids of instances are not checked: if a node loses its lease while a start waits, the id of the
//! start may be in use by then, and the start gets another one.

use std::collections::BTreeMap;

use meantime_core::{InstanceId, TaskId};

use super::violation::Findings;

/// A write that changed a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskChange {
    /// The task that changed.
    pub task: TaskId,
    /// How often it had been claimed before; `None` if it did not exist.
    pub before: Option<u32>,
    /// The number of claims that the write requires, if it requires one.
    pub expected: Option<u32>,
    /// How often it is claimed now; `None` if it was deleted.
    pub after: Option<u32>,
}

/// K4: every change of a task names its latest claim (P2, I5).
pub(super) fn claims_are_contiguous(step: TaskChange, findings: &mut Findings<'_>) {
    let TaskChange { task, before, expected, after } = step;
    if expected.is_some() && before != expected {
        let text = format!("task {task} stood at claim {before:?}, and {expected:?} was changed");
        findings.add_for(task.0.instance, text);
    }
    if let (Some(before), Some(after)) = (before, after)
        && after != before
        && after != before + 1
    {
        findings.add_for(task.0.instance, format!("task {task}: claim {after} follows {before}"));
    }
}

/// Every number of a history row is used once in the life of a store, by all its nodes together.
///
/// Holds the numbers in use, with their instance.
#[derive(Debug, Default)]
pub struct HistoryNumbers(BTreeMap<u64, InstanceId>);

impl HistoryNumbers {
    pub(super) fn check(&mut self, number: u64, instance: InstanceId, findings: &mut Findings<'_>) {
        if let Some(other) = self.0.insert(number, instance) {
            let text = format!("number {number} was given to {other} too");
            findings.add_for(instance, text);
        }
    }
}
