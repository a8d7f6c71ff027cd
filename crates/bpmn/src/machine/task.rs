//! Work for workers.

use meantime_core::{Effect, Failure, Json, RetryPolicy, TaskOutcome, TaskSpec, Verdict};

use super::json;
use super::state::{Id, Phase, Wait, WaitKind};
use super::turn::Machine;
use crate::expression::Expression;
use crate::model::{Kind, Task, Throw, Work};
use crate::trouble::Trouble;

impl Machine<'_> {
    /// Offers work of a service, send or business rule task, or of a thrown message.
    pub(super) fn schedule_work(&mut self, id: Id, work: &Work) -> Result<(), Failure> {
        let name = self.evaluate_name(&work.kind, id, "the task type")?;
        let mut spec = TaskSpec::worker(&name, self.place_of(id), Json::null());
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
        self.await_own(id, key, WaitKind::Task, name);
        Ok(())
    }

    /// Remembers what the element itself waits for.
    pub(super) fn await_own(
        &mut self,
        id: Id,
        key: super::state::Key,
        kind: WaitKind,
        name: String,
    ) {
        if let Some(element) = self.element_mut(id)
            && let Some(on) = element.node
        {
            element.waits.push(Wait { key, on, kind, name });
        }
    }

    fn retry_policy(&mut self, id: Id, work: &Work) -> Result<RetryPolicy, Failure> {
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
        id: Id,
        expression: &Expression,
        what: &str,
    ) -> Result<i64, Failure> {
        let value = self.evaluate(expression, id)?;
        json::plain(&value)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Trouble::NotANumber.because(format!("{what} is {value}")))
    }

    /// A task has its one outcome.
    pub(super) fn task_done(&mut self, id: Id, outcome: &TaskOutcome) -> Verdict {
        match outcome {
            TaskOutcome::Completed(output) => {
                let output = self.whole_result(id, output);
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
                self.park(id, failure.clone());
            }
        }
        Verdict::taken()
    }

    /// A retry does the work again, with the variables of then.
    pub(super) fn restart_on_retry(&mut self, id: Id) {
        if let Some(element) = self.element_mut(id) {
            element.phase = Phase::Entering;
        }
    }

    /// With a result variable, the result is one value, whatever it is.
    fn whole_result(&self, id: Id, output: &Json) -> Json {
        let work = match self.node_of(id).map(|node| &node.kind) {
            Some(
                Kind::Task(Task::Worker(work))
                | Kind::End(Throw::Message(work))
                | Kind::Throw(Throw::Message(work)),
            ) => Some(work),
            _ => None,
        };
        match work.and_then(|work| work.result.as_ref()) {
            Some(name) => json::object([(name, output)]),
            None => output.clone(),
        }
    }
}
