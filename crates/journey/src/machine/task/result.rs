//! What tasks come back with: `{status?, ok, headers, body, error?}`. A failure is a result, and
//! never ends the run.

use meantime_core::{Effect, Failure, Fault, Json, TaskCause, TaskOutcome};
use meantime_expr::value::{Object, Value};

use crate::definition::{Body, Task};
use crate::json;
use crate::machine::run::{Run, broken};
use crate::machine::saved::{FrameId, Standing};
use crate::surface::REQUEST_GONE;

impl Run<'_> {
    /// A task is over. Which kind knows what to do with the result.
    pub(in crate::machine) fn task_done(
        &mut self,
        key: meantime_core::EffectKey,
        outcome: &TaskOutcome,
    ) -> Result<bool, Fault> {
        let waits = |standing: &Standing| *standing == Standing::Task(key);
        let found = self.saved.frames.iter().find(|(_, frame)| waits(&frame.standing));
        let Some(id) = found.map(|(id, _)| *id) else { return Ok(false) };
        let state = self.state_of(id)?;
        let Body::Task(task) = &state.body else {
            return Err(broken("a frame waits for a task at another state"));
        };
        let flow = match &**task {
            Task::Http(call) => self.http_done(id, state, call, outcome)?,
            Task::Cache(cache) => self.cache_done(id, state, cache, outcome)?,
            Task::Auth(check) => self.auth_done(id, state, check, outcome)?,
            Task::Worker(worker) => self.worker_done(id, state, worker, outcome)?,
            Task::Schedule(_) => return Err(broken("a schedule is not a task")),
        };
        self.follow(id, flow)?;
        Ok(true)
    }

    /// History says when a task named an inbound request that was over, or was one of another
    /// process: it was done without that request's headers and credentials.
    pub(super) fn record_gone_request(&mut self, id: FrameId, outcome: &TaskOutcome) {
        let answer = match outcome {
            TaskOutcome::Completed(answer) => Some(answer),
            TaskOutcome::Failed { failure, .. } => failure.data.as_ref(),
        };
        let is_gone = |answer: &Json| {
            matches!(
                json::get(&json::parse(answer), &[REQUEST_GONE.to_owned()]),
                Some(Value::Bool(true))
            )
        };
        if answer.is_some_and(is_gone) {
            let place = self.place_of(id);
            let data = Json::of(&serde_json::json!({ "place": place })).unwrap_or_default();
            self.push(Effect::Record { kind: REQUEST_GONE.to_owned(), data });
        }
    }

    pub(in crate::machine) fn wait_for_task(
        &mut self,
        spec: meantime_core::TaskSpec,
    ) -> crate::machine::flow::Flow {
        let key = self.push(meantime_core::Effect::ScheduleTask(spec));
        crate::machine::flow::Flow::Wait(Standing::Task(key))
    }
}

/// The result of a call. An answer of any status is one; a call without an answer has an error. An
/// answer that was not worth keeping while attempts were left comes as the data of the failure.
pub(super) fn http_result(outcome: &TaskOutcome) -> Value {
    match outcome {
        TaskOutcome::Completed(answer) => answered(&json::parse(answer)),
        TaskOutcome::Failed { failure, cause, .. } => {
            let data = failure.data.as_ref().map(json::parse);
            match data.filter(|data| json::get(data, &["status".to_owned()]).is_some()) {
                Some(answer) => answered(&answer),
                None if failure.code == HTTP_TIMEOUT => failed("TIMEOUT", failure),
                None => failed(kind_of(*cause), failure),
            }
        }
    }
}

/// The code with which the engine reports a call that took too long.
const HTTP_TIMEOUT: &str = "HTTP_TIMEOUT";

fn answered(answer: &Value) -> Value {
    let part = |name: &str| json::get(answer, &[name.to_owned()]).cloned().unwrap_or_default();
    let status = part("status");
    let ok = json::text(&status).parse::<u16>().is_ok_and(|it| (200..=299).contains(&it));
    json::object_of([
        ("status", status),
        ("ok", ok.into()),
        ("headers", part("headers")),
        ("body", part("body")),
    ])
}

/// The result of a worker's task, in the same shape (JR8).
pub(super) fn worker_result(outcome: &TaskOutcome) -> Value {
    match outcome {
        TaskOutcome::Completed(output) => {
            json::object_of([("ok", true.into()), ("body", json::parse(output))])
        }
        TaskOutcome::Failed { failure, cause, .. } => {
            let kind = match cause {
                TaskCause::Reported => failure.code.as_str(),
                other => kind_of(*other),
            };
            failed(kind, failure)
        }
    }
}

const fn kind_of(cause: TaskCause) -> &'static str {
    match cause {
        TaskCause::Timeout | TaskCause::Deadline => "TIMEOUT",
        TaskCause::Reported | TaskCause::LeaseExpired => "NETWORK",
    }
}

fn failed(kind: &str, failure: &Failure) -> Value {
    let mut error = Object::default();
    error.insert("type", kind);
    error.insert("message", failure.message.as_str());
    if let Some(data) = failure.data.as_ref().map(json::parse) {
        error.insert("data", data);
    }
    json::object_of([
        ("ok", false.into()),
        ("headers", json::object_of([])),
        ("body", Value::Null),
        ("error", error.into()),
    ])
}

/// Whether a result says that all went well.
pub(super) fn is_ok(result: &Value) -> bool {
    matches!(json::get(result, &["ok".to_owned()]), Some(Value::Bool(true)))
}
