//! P2: a task is offered until it has its outcome. When all workers have completed all they were
//! given, the only tasks left are those that an incident holds.

use meantime_kernel::store::TaskState;

use super::run_record::RunRecord;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    for row in run.rows.tasks.values() {
        if matches!(row.state, TaskState::Ready | TaskState::Leased) {
            let (id, state, at) = (row.id, row.state.name(), row.available_at);
            findings.add_for(id.0.instance, format!("task {id} is {state} since {at} for nobody"));
        }
    }
}
