//! Every call gets a reply, unless its process died or it waits for something that may never
//! happen.

use meantime_core::{InstanceId, TaskKind};
use meantime_kernel::command::{Command, Reply, Wait};
use meantime_kernel::store::Phase;

use super::run_record::{CallRecord, RunRecord};
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    for call in run.calls.iter().filter(|call| !call.lost) {
        let is_late = call.is_overdue && !may_still_wait(run, call);
        if call.answer.is_none() || is_late {
            findings.add(format!("call {}, {}, was not answered", call.number, call.name));
        }
    }
}

/// Whether a caller may still wait: for an instance that is not idle.
fn may_still_wait(run: &RunRecord, call: &CallRecord) -> bool {
    let instance = match (&call.command, call.reply()) {
        (Command::Signal { instance, .. }, _) | (_, Some(Reply::Started { instance, .. })) => {
            *instance
        }
        _ => return false,
    };
    call.wait == Wait::Idle && !is_settled(run, instance)
}

/// Whether an instance and its children wait only for time, signals, messages, steps or people.
fn is_settled(run: &RunRecord, id: InstanceId) -> bool {
    let Some(row) = run.rows.instances.get(&id) else { return true };
    let works = row.open.tasks.values().any(|task| !task.detached && task.kind != TaskKind::User);
    let moves = matches!(row.phase, Phase::Starting | Phase::Yielding) && row.meta.held.is_none();
    // The runs of a schedule continue after it has ended, so children are checked even then.
    let mut children = run.rows.children.get(&id).into_iter().flatten();
    (row.phase.is_ended() || (!works && !moves)) && children.all(|child| is_settled(run, child.id))
}
