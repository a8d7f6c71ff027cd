//! Results of tasks: `{status?, ok, headers, body, error?}`. A failure is a result and never ends
//! the run.

use meantime_core::{Effect, Failure, Fault, Json, TaskCause, TaskOutcome};
use meantime_value::{Object, Value};

use crate::definition::{StateBody, Task};
use crate::json;
use crate::machine::run::{Run, state_mismatch};
use crate::machine::saved::{FrameId, RunRole, WaitState};
use crate::machine::transition::{StateError, Transition};
use crate::surface::{DEADLINE_AT, HTTP_BODY, HTTP_DEADLINE, REQUEST_GONE, is_config_error};

/// The code of a call that timed out.
const HTTP_TIMEOUT: &str = "HTTP_TIMEOUT";

impl Run<'_> {
    /// A task has ended. Continues by its kind.
    pub(in crate::machine) fn task_done(
        &mut self,
        key: meantime_core::EffectKey,
        outcome: &TaskOutcome,
    ) -> Result<bool, Fault> {
        let waits = |wait_state: &WaitState| *wait_state == WaitState::Task(key);
        let found = self.saved.frames.iter().find(|(_, frame)| waits(&frame.wait_state));
        let Some(id) = found.map(|(id, _)| *id) else { return Ok(false) };
        let state = self.state_of(id)?;
        let StateBody::Task(task) = &state.body else {
            return Err(state_mismatch("a frame waits for a task at another state"));
        };
        if let TaskOutcome::Failed { failure, .. } = outcome
            && is_config_error(&failure.code)
        {
            let flow = self.raise_config_incident(id, failure);
            self.apply_transition(id, flow)?;
            return Ok(true);
        }
        if self.is_cut_by_deadline(outcome)? {
            return self.time_out_run();
        }
        let flow = match &**task {
            Task::Http(call) => self.http_done(id, state, call, outcome)?,
            Task::Cache(cache) => self.cache_done(id, state, cache, outcome)?,
            Task::Auth(check) => self.auth_done(id, state, check, outcome)?,
            Task::Worker(worker) => self.worker_done(id, state, worker, outcome)?,
            Task::Schedule(_) => return Err(state_mismatch("a schedule is not a task")),
        };
        self.apply_transition(id, flow)?;
        Ok(true)
    }

    /// Whether a call used all the time up to the run's deadline, and that deadline still holds.
    /// The run then ends as if the deadline had fired (JE2), even if the clock has not reached it.
    fn is_cut_by_deadline(&self, outcome: &TaskOutcome) -> Result<bool, Fault> {
        let TaskOutcome::Failed { failure, .. } = outcome else { return Ok(false) };
        let Some(data) = failure.data.as_ref().filter(|_| failure.code == HTTP_DEADLINE) else {
            return Ok(false);
        };
        let cut = json::get(&json::parse(data)?, &[DEADLINE_AT.to_owned()]).and_then(json::string);
        Ok(cut.is_some() && cut == self.cx.deadline.map(|it| it.to_string()))
    }

    /// The deployment lacks something, which is not the run's fault: raises an incident, and a
    /// retry enters the state again. A run that answers a request cannot wait for an operator and
    /// fails.
    fn raise_config_incident(&mut self, id: FrameId, failure: &Failure) -> Transition {
        let can_wait = self.journey.is_durable() && !matches!(self.saved.role, RunRole::Guard(_));
        if !can_wait {
            return StateError::internal(format!("{}: {}", failure.code, failure.message)).into();
        }
        let (element, failure) = (self.element_path(id), failure.clone());
        Transition::Wait(WaitState::Incident(self.push(Effect::Incident { element, failure })))
    }

    /// Records in history that the inbound request of a task had ended or belonged to another
    /// process: the task ran without that request's headers and credentials.
    pub(super) fn record_gone_request(
        &mut self,
        id: FrameId,
        outcome: &TaskOutcome,
    ) -> Result<(), Fault> {
        let answer = match outcome {
            TaskOutcome::Completed(answer) => Some(answer),
            TaskOutcome::Failed { failure, .. } => failure.data.as_ref(),
        };
        let answer = answer.map(json::parse).transpose()?.unwrap_or_default();
        let gone = json::get(&answer, &[REQUEST_GONE.to_owned()]);
        if matches!(gone, Some(Value::Bool(true))) {
            let data = Json::object([("element", &Json::text(&self.element_path(id)))]);
            self.push(Effect::Record { kind: REQUEST_GONE.to_owned(), data });
        }
        Ok(())
    }

    pub(in crate::machine) fn wait_for_task(
        &mut self,
        spec: meantime_core::TaskSpec,
    ) -> Transition {
        let key = self.push(Effect::ScheduleTask(spec));
        Transition::Wait(WaitState::Task(key))
    }
}

/// The result of a call. A response of any status is a result; a call without a response has an
/// error. A response that could still have been retried comes as the data of the failure, and so do
/// status and headers of a response whose body cannot be kept.
pub(super) fn http_result(outcome: &TaskOutcome) -> Result<Value, Fault> {
    let (failure, cause) = match outcome {
        TaskOutcome::Completed(answer) => return Ok(response_result(&json::parse(answer)?)),
        TaskOutcome::Failed { failure, cause, .. } => (failure, *cause),
    };
    let data = failure.data.as_ref().map(json::parse).transpose()?;
    let answer = data.as_ref().filter(|data| json::get(data, &["status".to_owned()]).is_some());
    Ok(match answer {
        Some(answer) if failure.code == HTTP_BODY => {
            let error = json::object_of([
                ("type", kind_of(cause).into()),
                ("code", HTTP_BODY.into()),
                ("message", failure.message.as_str().into()),
            ]);
            let result = response_result(answer);
            let result = json::put(&result, &["ok".to_owned()], false.into());
            json::put(&result, &["error".to_owned()], error)
        }
        Some(answer) => response_result(answer),
        None if matches!(failure.code.as_str(), HTTP_TIMEOUT | HTTP_DEADLINE) => {
            failure_result("TIMEOUT", failure, None)
        }
        None => failure_result(kind_of(cause), failure, data),
    })
}

fn response_result(answer: &Value) -> Value {
    let part = |name: &str| json::get(answer, &[name.to_owned()]).cloned().unwrap_or_default();
    let status = part("status");
    let ok = json::shown(&status).parse::<u16>().is_ok_and(|it| (200..=299).contains(&it));
    json::object_of([
        ("status", status),
        ("ok", ok.into()),
        ("headers", part("headers")),
        ("body", part("body")),
    ])
}

/// The result of a worker's task, in the same shape (JR8).
pub(super) fn worker_result(outcome: &TaskOutcome) -> Result<Value, Fault> {
    Ok(match outcome {
        TaskOutcome::Completed(output) => {
            json::object_of([("ok", true.into()), ("body", json::parse(output)?)])
        }
        TaskOutcome::Failed { failure, cause, .. } => {
            let kind = match cause {
                TaskCause::Reported => failure.code.as_str(),
                other => kind_of(*other),
            };
            failure_result(kind, failure, failure.data.as_ref().map(json::parse).transpose()?)
        }
    })
}

const fn kind_of(cause: TaskCause) -> &'static str {
    match cause {
        TaskCause::Timeout | TaskCause::Deadline => "TIMEOUT",
        TaskCause::Reported | TaskCause::LeaseExpired => "NETWORK",
    }
}

fn failure_result(kind: &str, failure: &Failure, data: Option<Value>) -> Value {
    let mut error = Object::default();
    error.insert("type", kind);
    error.insert("message", failure.message.as_str());
    if let Some(data) = data {
        error.insert("data", data);
    }
    json::object_of([
        ("ok", false.into()),
        ("headers", json::object_of([])),
        ("body", Value::Null),
        ("error", error.into()),
    ])
}

/// Whether a result is a success.
pub(super) fn is_ok(result: &Value) -> bool {
    matches!(json::get(result, &["ok".to_owned()]), Some(Value::Bool(true)))
}
