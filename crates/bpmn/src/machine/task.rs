//! Tasks of workers.

use meantime_core::{Effect, Failure, Json, RetryPolicy, TaskOutcome, TaskSpec, Verdict};

use super::json;
use super::state::{ArmedWait, ElementInstanceId, ElementPhase, WaitKind};
use super::turn::Machine;
use crate::expression::Expression;
use crate::incident_code::IncidentCode;
use crate::model::{NodeKind, Task, ThrownEvent, WorkerJob};

impl Machine<'_> {
    /// Creates the task of a service, send or business rule task, or of a thrown message.
    pub(super) fn schedule_work(
        &mut self,
        id: ElementInstanceId,
        work: &WorkerJob,
    ) -> Result<(), Failure> {
        let name = self.evaluate_name(&work.kind, id, "the task type")?;
        let mut spec = TaskSpec::worker(&name, self.element_path(id), Json::null());
        spec.retry = self.retry_policy(id, work)?;
        if let Some(priority) = &work.priority {
            spec.priority = i32::try_from(self.number(id, priority, "the priority")?).unwrap_or(0);
        }
        if !work.headers.is_empty() {
            let headers =
                work.headers.iter().map(|(key, value)| (key.clone(), json::of_text(value)));
            let headers: std::collections::BTreeMap<String, Json> = headers.collect();
            spec.headers = Some(json::object(&headers));
        }
        spec.input = json::object(&self.visible(id));
        let key = self.push(Effect::ScheduleTask(spec));
        self.add_own_wait(id, key, WaitKind::Task, name);
        Ok(())
    }

    /// Records the wait of an element's own work.
    pub(super) fn add_own_wait(
        &mut self,
        id: ElementInstanceId,
        key: super::state::LocalEffectKey,
        kind: WaitKind,
        name: String,
    ) {
        if let Some(element) = self.element_mut(id)
            && let Some(on) = element.node
        {
            element.waits.push(ArmedWait { key, on, kind, name });
        }
    }

    fn retry_policy(
        &mut self,
        id: ElementInstanceId,
        work: &WorkerJob,
    ) -> Result<RetryPolicy, Failure> {
        let mut retry = RetryPolicy::default();
        if let Some(retries) = &work.retries {
            let count = self.number(id, retries, "retries")?;
            retry.max_attempts = u32::try_from(count).unwrap_or(1).max(1);
        }
        if let Some(wait_ms) = work.retry_ms {
            retry.base_ms = wait_ms;
            retry.max_ms = wait_ms;
            (retry.exponential, retry.jitter) = (false, false);
        }
        Ok(retry)
    }

    pub(super) fn number(
        &mut self,
        id: ElementInstanceId,
        expression: &Expression,
        what: &str,
    ) -> Result<i64, Failure> {
        let value = self.evaluate(expression, id)?;
        json::scalar_text(&value)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| IncidentCode::NotANumber.failure(format!("{what} is {value}")))
    }

    /// The outcome of a task; every task has exactly one.
    pub(super) fn task_done(&mut self, id: ElementInstanceId, outcome: &TaskOutcome) -> Verdict {
        match outcome {
            TaskOutcome::Completed(output) => {
                let output = self.result_as_variable(id, output);
                self.complete(id, output);
            }
            TaskOutcome::Failed { failure, thrown: Some(thrown), .. } => {
                let payload = thrown.variables.clone().unwrap_or_default();
                self.restart_on_retry(id);
                let failure = Failure { code: thrown.code.clone(), ..failure.clone() };
                self.throw_error(id, &failure, payload);
            }
            TaskOutcome::Failed { failure, thrown: None, .. } => {
                self.restart_on_retry(id);
                self.raise_incident(id, failure.clone());
            }
        }
        Verdict::taken()
    }

    /// A retry creates a new task, with the variables as they are then.
    pub(super) fn restart_on_retry(&mut self, id: ElementInstanceId) {
        if let Some(element) = self.element_mut(id) {
            element.phase = ElementPhase::Entering;
        }
    }

    /// With a result variable, the whole result is its value.
    fn result_as_variable(&self, id: ElementInstanceId, output: &Json) -> Json {
        let work = match self.node_of(id).map(|node| &node.kind) {
            Some(
                NodeKind::Task(Task::Worker(work))
                | NodeKind::End(ThrownEvent::Message(work))
                | NodeKind::Throw(ThrownEvent::Message(work)),
            ) => Some(work),
            _ => None,
        };
        match work.and_then(|work| work.result.as_ref()) {
            Some(name) => json::object([(name, output)]),
            None => output.clone(),
        }
    }
}
