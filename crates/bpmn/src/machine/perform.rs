//! What an element does when it is active. Dispatch only: each kind has its own file.

use meantime_core::{Failure, Json};

use super::state::ElementInstanceId;
use super::turn::Machine;
use crate::model::{Gateway, NodeKind, Task};

impl Machine<'_> {
    pub(super) fn perform(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        match &node.kind {
            NodeKind::Catch(trigger) => self.arm_trigger(id, trigger),
            NodeKind::Throw(throw) | NodeKind::End(throw) => self.throw(id, throw),
            NodeKind::Task(Task::Worker(work)) => self.schedule_work(id, work),
            NodeKind::Task(Task::User(task)) => self.schedule_user_task(id, task),
            NodeKind::Task(Task::Receive(_)) => self.arm_own_trigger(id),
            NodeKind::Task(Task::Script { code, result }) => {
                self.run_script(id, code, result.as_deref())
            }
            NodeKind::Gateway(Gateway::EventBased) => self.arm_gateway_events(id),
            NodeKind::Start(_)
            | NodeKind::Boundary(_)
            | NodeKind::Task(Task::Pass)
            | NodeKind::Gateway(_) => {
                self.complete(id, Json::null());
                Ok(())
            }
            NodeKind::SubProcess(sub) => self.begin_sub_process(id, sub),
            NodeKind::Call(call) => self.begin_call(id, call),
        }
    }
}
