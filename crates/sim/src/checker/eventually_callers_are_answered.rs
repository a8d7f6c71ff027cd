//! Whoever asks is answered, unless the process died or what they wait for may never come.

use meantime_core::{InstanceId, TaskKind};
use meantime_kernel::command::{Command, Reply, Wait};
use meantime_kernel::store::Phase;

use super::chronicle::{Call, Chronicle};
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    for call in chronicle.calls.iter().filter(|call| !call.lost) {
        let is_late = call.is_overdue && !waits_rightly(chronicle, call);
        if call.answer.is_none() || is_late {
            found.say(format!("call {}, {}, was not answered", call.number, call.name));
        }
    }
}

/// Whether a caller may still wait: for an instance that has not settled.
fn waits_rightly(chronicle: &Chronicle, call: &Call) -> bool {
    let instance = match (&call.command, call.done()) {
        (Command::Signal { instance, .. }, _) | (_, Some(Reply::Started { instance, .. })) => {
            *instance
        }
        _ => return false,
    };
    call.wait == Wait::Idle && !is_settled(chronicle, instance)
}

/// Whether an instance and its children wait only for time, signals, messages, steps or people.
fn is_settled(chronicle: &Chronicle, id: InstanceId) -> bool {
    let Some(row) = chronicle.rows.instances.get(&id) else { return true };
    let works = row.open.tasks.values().any(|task| !task.detached && task.kind != TaskKind::User);
    let moves = matches!(row.phase, Phase::Starting | Phase::Yielding) && row.meta.held.is_none();
    // Runs of a schedule outlive it.
    let mut children = chronicle.rows.children.get(&id).into_iter().flatten();
    (row.phase.is_ended() || (!works && !moves))
        && children.all(|child| is_settled(chronicle, child.id))
}
