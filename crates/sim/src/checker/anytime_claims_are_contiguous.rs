//! K4: every change of a task names its latest claim (P2, I5).

use meantime_core::TaskId;

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

pub(super) fn check(step: TaskChange, findings: &mut Findings<'_>) {
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
