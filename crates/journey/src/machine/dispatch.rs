//! Dispatch from state types to functions only.

use meantime_core::Fault;

use super::run::Run;
use super::saved::FrameId;
use super::transition::Transition;
use crate::definition::{State, StateBody, Task};

impl Run<'_> {
    /// Enters a state.
    pub(super) fn dispatch(&mut self, id: FrameId, state: &State) -> Result<Transition, Fault> {
        match &state.body {
            StateBody::Task(task) => match &**task {
                Task::Http(call) => self.enter_http(id, state, call),
                Task::Schedule(schedule) => self.enter_schedule(id, schedule),
                Task::Cache(cache) => self.enter_cache(id, cache),
                Task::Auth(check) => self.enter_auth(id, check),
                Task::Worker(task) => self.enter_worker(id, task),
            },
            StateBody::Choice(choice) => self.enter_choice(id, state, choice),
            StateBody::Transform(transform) => self.enter_transform(id, state, transform),
            StateBody::Step(step) => self.enter_step(id, state, step),
            StateBody::Timer(timer) => self.enter_timer(id, timer),
            StateBody::Parallel(parallel) => Ok(self.enter_parallel(id, parallel)),
            StateBody::Call(call) => self.enter_call(id, call),
            StateBody::Succeed(succeed) => self.enter_succeed(id, succeed),
            StateBody::Fail(fail) => self.enter_fail(id, fail),
        }
    }
}
