//! Which state type is which function, nothing else.

use meantime_core::Fault;

use super::flow::Flow;
use super::run::Run;
use super::saved::FrameId;
use crate::definition::{Body, State, Task};

impl Run<'_> {
    /// Enters a state.
    pub(super) fn dispatch(&mut self, id: FrameId, state: &State) -> Result<Flow, Fault> {
        match &state.body {
            Body::Task(task) => match &**task {
                Task::Http(call) => self.enter_http(id, state, call),
                Task::Schedule(schedule) => self.enter_schedule(id, schedule),
                Task::Cache(cache) => self.enter_cache(id, cache),
                Task::Auth(check) => self.enter_auth(id, check),
                Task::Worker(task) => self.enter_worker(id, task),
            },
            Body::Choice(choice) => self.enter_choice(id, state, choice),
            Body::Transform(transform) => self.enter_transform(id, state, transform),
            Body::Step(step) => self.enter_step(id, state, step),
            Body::Timer(timer) => self.enter_timer(id, timer),
            Body::Parallel(parallel) => Ok(self.enter_parallel(id, parallel)),
            Body::Call(call) => self.enter_call(id, call),
            Body::Succeed(succeed) => self.enter_succeed(id, succeed),
            Body::Fail(fail) => self.enter_fail(id, fail),
        }
    }
}
