//! What must have happened when nothing is in progress any more.

use meantime_core::{InstanceId, TaskKind};
use meantime_kernel::command::{Command, Reply, Wait};
use meantime_kernel::store::{Phase, TaskState};

use super::run_record::{CallRecord, RunRecord};
use super::violation::Findings;

/// P15: every ready instance gets its turn; no wake-up is lost.
pub(super) fn ready_instances_turn(run: &RunRecord, findings: &mut Findings<'_>) {
    for id in &run.rows.ready {
        let phase = run.rows.instances.get(id).map_or("gone", |row| row.phase.name());
        findings.add_for(*id, format!("it is ready, {phase}, and no node runs its turn"));
    }
}

/// P3: no timer is left whose due time has passed.
pub(super) fn due_timers_fire(run: &RunRecord, findings: &mut Findings<'_>) {
    let now = run.rows.now;
    for row in run.rows.timers.values().filter(|row| !row.frozen && row.due_at <= now) {
        let text = format!("timer {} is due since {} and it is {now}", row.id, row.due_at);
        findings.add_for(row.id.0.instance, text);
    }
}

/// P2: a task is offered until it has its outcome. When all workers have completed all they were
/// given, the only tasks left are those that an incident holds.
pub(super) fn tasks_are_offered(run: &RunRecord, findings: &mut Findings<'_>) {
    for row in run.rows.tasks.values() {
        if matches!(row.state, TaskState::Ready | TaskState::Leased) {
            let (id, state, at) = (row.id, row.state.name(), row.available_at);
            findings.add_for(
                id.0.instance,
                format!("task {id} is {state} since {at} and was not offered"),
            );
        }
    }
}

/// Every call gets a reply, unless its process died or it waits for something that may never
/// happen.
pub(super) fn callers_are_answered(run: &RunRecord, findings: &mut Findings<'_>) {
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
    call.wait == Wait::Idle && !is_idle(run, instance)
}

/// Whether an instance and its children wait only for time, signals, messages, steps or people.
fn is_idle(run: &RunRecord, id: InstanceId) -> bool {
    let Some(row) = run.rows.instances.get(&id) else { return true };
    let works = row.open.tasks.values().any(|task| !task.detached && task.kind != TaskKind::User);
    let moves = matches!(row.phase, Phase::Starting | Phase::Yielding) && row.meta.held.is_none();
    // The runs of a schedule continue after it has ended, so children are checked even then.
    let mut children = run.rows.children.get(&id).into_iter().flatten();
    (row.phase.is_ended() || (!works && !moves)) && children.all(|child| is_idle(run, child.id))
}
