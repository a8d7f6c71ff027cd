//! `Task.run`, `Http.request`, and the delays.

use meantime_core::{Effect, Json, TaskKind, TaskSpec};
use meantime_script::{EffectKind, EffectRequest, EffectStartError, StartedEffect};
use serde::Deserialize;

use super::options::{RetryOptions, name, options};
use super::time::UnparsedTime;
use super::turn::{TurnHost, position_text};
use crate::http::{HTTP_TASK, HttpCallOptions};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
struct TaskOptions {
    #[serde(default)]
    queue: Option<String>,
    #[serde(default)]
    retry: Option<RetryOptions>,
    #[serde(default)]
    timeout: Option<UnparsedTime>,
    #[serde(default)]
    deadline: Option<UnparsedTime>,
    #[serde(default)]
    priority: Option<i32>,
    #[serde(default)]
    key: Option<String>,
}

/// An argument of a call, if it was given.
pub(super) fn arg(request: &EffectRequest, index: usize) -> Option<&Json> {
    request.args.get(index).and_then(Option::as_ref)
}

impl TurnHost<'_> {
    pub(super) fn start_task(
        &mut self,
        request: &EffectRequest,
    ) -> Result<StartedEffect, EffectStartError> {
        let most = self.cx.limits.name_bytes;
        let name = name(arg(request, 0), "the type of the task", most)?;
        let input = arg(request, 1).cloned().unwrap_or_default();
        self.check_payload(&input, request.position)?;
        let options: TaskOptions = options(arg(request, 2), "Task.run")?;
        let mut spec = TaskSpec::worker(&name, position_text(request.position), input);
        spec.retry = match &options.retry {
            Some(retry) => retry.policy(self.retry)?,
            None => self.retry,
        };
        spec.queue = options.queue.unwrap_or_default();
        spec.priority = options.priority.unwrap_or_default();
        if let Some(timeout) = &options.timeout {
            spec.timeout_ms = Some(timeout.duration_ms()?);
        }
        if let Some(deadline) = &options.deadline {
            spec.deadline_at = Some(deadline.deadline_instant(self.cx.now)?);
        }
        if let Some(key) = &options.key {
            // The worker gets it beside the idempotency key of the engine.
            spec.headers = Some(Json::object([("key", &Json::text(key))]));
        }
        if spec.queue.len() > most || options.key.is_some_and(|key| key.len() > most) {
            return Err(EffectStartError::range_error(format!(
                "a name has more than {most} bytes"
            )));
        }
        let key = self.push(Effect::ScheduleTask(spec));
        Ok(StartedEffect { what: EffectKind::Task, key, timer: None, name })
    }

    /// An engine task, to which the egress policy applies.
    pub(super) fn start_http(
        &mut self,
        request: &EffectRequest,
    ) -> Result<StartedEffect, EffectStartError> {
        let call: HttpCallOptions = options(arg(request, 0), "Http.request")?;
        let retry = call.retry(meantime_core::RetryPolicy::never())?;
        let (call, name) = call.into_call()?;
        let input =
            Json::of(&call).map_err(|error| EffectStartError::type_error(error.to_string()))?;
        self.check_payload(&input, request.position)?;
        let mut spec = TaskSpec::worker(HTTP_TASK, position_text(request.position), input);
        spec.kind = TaskKind::Engine;
        spec.retry = retry;
        spec.timeout_ms = call.timeout_ms;
        let key = self.push(Effect::ScheduleTask(spec));
        Ok(StartedEffect { what: EffectKind::Http, key, timer: None, name })
    }

    pub(super) fn start_delay(
        &mut self,
        request: &EffectRequest,
    ) -> Result<StartedEffect, EffectStartError> {
        let time = UnparsedTime::of(arg(request, 0).cloned().unwrap_or_default());
        let due_at = time.due_after(self.cx.now)?;
        Ok(self.start_timer(request, due_at))
    }

    pub(super) fn start_until(
        &mut self,
        request: &EffectRequest,
    ) -> Result<StartedEffect, EffectStartError> {
        let time = UnparsedTime::of(arg(request, 0).cloned().unwrap_or_default());
        let due_at = time.instant()?;
        Ok(self.start_timer(request, due_at))
    }

    fn start_timer(
        &mut self,
        request: &EffectRequest,
        due_at: meantime_core::Timestamp,
    ) -> StartedEffect {
        let element = position_text(request.position);
        let key = self.push(Effect::StartTimer { element, due_at });
        StartedEffect { what: EffectKind::Timer, key, timer: None, name: due_at.to_string() }
    }
}
