//! Kinds that workers implement (JR8). The result has the shape of an HTTP result.

use meantime_core::{Fault, Json, TaskOutcome, TaskSpec};

use super::result::worker_result;
use crate::definition::{State, WorkerTask};
use crate::json;
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::Transition;

impl Run<'_> {
    pub(in crate::machine) fn enter_worker(
        &mut self,
        id: FrameId,
        task: &WorkerTask,
    ) -> Result<Transition, Fault> {
        let input = match &task.input {
            Some(mapper) => match self.evaluate(id, mapper, Vec::new())? {
                Ok(value) => json::document(&value)?,
                Err(error) => return Ok(error.into()),
            },
            None => Json::null(),
        };
        let spec = TaskSpec {
            timeout_ms: task.timeout_ms,
            ..TaskSpec::worker(task.kind.clone(), self.element_path(id), input)
        };
        Ok(self.wait_for_task(spec))
    }

    pub(super) fn worker_done(
        &mut self,
        id: FrameId,
        state: &State,
        task: &WorkerTask,
        outcome: &TaskOutcome,
    ) -> Result<Transition, Fault> {
        if let Some(var) = &task.result_var {
            self.write_var(id, var, worker_result(outcome)?)?;
        }
        Self::next_transition(state)
    }
}
