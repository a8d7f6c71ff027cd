//! K1, at the moment of the answer: the store contains what the caller is told.

use meantime_core::TaskId;
use meantime_kernel::command::{Command, Reply, Report};
use meantime_kernel::open::Key;
use meantime_kernel::store::Store;

use super::violation::Findings;
use crate::harness::block_on;

pub(super) fn check(
    store: &dyn Store,
    command: &Command,
    reply: &Reply,
    findings: &mut Findings<'_>,
) {
    match (command, reply) {
        (
            _,
            Reply::Started { instance, repeated: false, .. }
            | Reply::Scheduled { schedule: instance },
        ) => {
            if let Ok(None) = block_on(store.instance(*instance)) {
                findings.add_for(*instance, "it was acknowledged and is not there".to_owned());
            }
        }
        (Command::Report { task, report, .. }, Reply::Done) if is_final(report) => {
            let TaskId(key) = *task;
            let row = block_on(store.instance(key.instance)).ok().flatten();
            if row.is_some_and(|row| row.open.tasks.contains_key(&Key::from(key))) {
                let text = format!("task {task} was acknowledged as over and is open");
                findings.add_for(key.instance, text);
            }
        }
        (_, Reply::Tasks(tasks)) => {
            for task in tasks {
                let row = block_on(store.task(task.id)).ok().flatten();
                // The task may have been cancelled or claimed again, but its number of claims
                // cannot be lower.
                if row.is_some_and(|row| row.claims < task.token.claims) {
                    let text = format!("task {} was handed out before its commit", task.id);
                    findings.add_for(task.id.0.instance, text);
                }
            }
        }
        _ => {}
    }
}

/// Whether the task is closed after this report.
fn is_final(report: &Report) -> bool {
    match report {
        Report::Completed(_) => true,
        Report::Failed { retryable, thrown, .. } => !retryable || thrown.is_some(),
    }
}
