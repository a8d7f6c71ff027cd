//! What an element does once it is active. Only the dispatch: each family has its own file.

use meantime_core::{Failure, Json};

use super::state::Id;
use super::turn::Machine;
use crate::model::{Gateway, Kind, Task};

impl Machine<'_> {
    pub(super) fn perform(&mut self, id: Id) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        match &node.kind {
            Kind::Catch(trigger) => self.wait_for(id, trigger),
            Kind::Throw(throw) | Kind::End(throw) => self.throw(id, throw),
            Kind::Task(Task::Worker(work)) => self.schedule_work(id, work),
            Kind::Task(Task::User(task)) => self.schedule_user_task(id, task),
            Kind::Task(Task::Receive(_)) => self.wait_for_own(id),
            Kind::Task(Task::Script { code, result }) => {
                self.run_script(id, code, result.as_deref())
            }
            Kind::Gateway(Gateway::EventBased) => self.wait_for_first(id),
            Kind::Start(_) | Kind::Boundary(_) | Kind::Task(Task::Pass) | Kind::Gateway(_) => {
                self.complete(id, Json::null());
                Ok(())
            }
            Kind::Sub(sub) => self.begin_sub(id, sub),
            Kind::Call(call) => self.begin_call(id, call),
        }
    }
}
