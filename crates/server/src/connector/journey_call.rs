//! `httpCall:v1`: an outbound call of a journey.
//!
//! A response of any status completes the task, unless the retry policy of the journey names the
//! status: then the attempt fails with the response as its data, so that the last response still
//! reaches the journey.

use std::sync::Arc;

use meantime_core::{Failure, Json};
use meantime_journey::surface::{DEADLINE_AT, HTTP_BODY, HTTP_DEADLINE, HttpRequest};
use meantime_kernel::command::Report;
use meantime_kernel::store::TaskRow;

use super::http::{HeaderField, OutboundRequest, OutboundResponse};
use super::task::{Connectors, HttpTaskOutput, permanent_failure, task_failure};
use crate::journey::InboundRequest;

/// Maximum `Retry-After` that is honoured, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 3_600_000;

/// The inbound request of a task.
pub(super) struct RequestScope {
    /// The request, if it is still in progress.
    pub(super) inbound: Option<Arc<InboundRequest>>,
    /// Whether the task names a request that has ended or belonged to another process.
    pub(super) is_gone: bool,
}

impl Connectors {
    /// Looks up the inbound request of a task. Without it the task runs with empty headers.
    pub(super) fn scope_of(&self, task: &TaskRow, id: Option<&str>) -> RequestScope {
        let inbound = id.and_then(|id| self.requests.get(id));
        let is_gone = id.is_some() && inbound.is_none();
        if is_gone {
            let (name, instance) = (&task.spec.name, task.id.0.instance);
            tracing::info!(%instance, task = %name, "the inbound request has ended; the task runs without its headers");
        }
        RequestScope { inbound, is_gone }
    }

    pub(super) async fn journey_call(&self, task: &TaskRow) -> Report {
        let request = match task.spec.input.read::<HttpRequest>() {
            Ok(request) => request,
            Err(error) => return permanent_failure("HTTP_INVALID", &error.to_string()),
        };
        let retry_on = request.retry_on.clone();
        let scope = self.scope_of(task, request.request.as_deref());
        let is_gone = scope.is_gone;
        match self.send(task, request, &scope).await {
            Ok(answer) => report_response(&retry_on, answer, is_gone),
            Err(error) if error.code == HTTP_DEADLINE => deadline_failure(task, &error.message),
            Err(error) => {
                let retryable = error.retryable && retry_on.iter().any(|it| it == "NETWORK_ERROR");
                task_failure(error.code, &error.message, retryable)
            }
        }
    }

    async fn send(
        &self,
        task: &TaskRow,
        request: HttpRequest,
        scope: &RequestScope,
    ) -> Result<OutboundResponse, super::http::HttpError> {
        let HttpRequest { method, url, mut headers, body, timeout_ms, auth, .. } = request;
        for (name, value) in scope.inbound.iter().flat_map(|it| it.passthrough.iter()) {
            // Headers of the journey take precedence over passed-through ones.
            let is_said = headers.keys().any(|it| it.eq_ignore_ascii_case(name));
            if !is_said {
                headers.insert(name.clone(), value.clone());
            }
        }
        let call = OutboundRequest { method, url, headers, body };
        match auth {
            Some(policy) => self.call_with_auth(task, call, timeout_ms, &policy).await,
            None => self.outbound_call(task, call, Some(timeout_ms)).await,
        }
    }
}

/// The failure of a call that ran until the deadline: the run ends with its deadline. The data
/// names the deadline, because an operator may have moved it meanwhile.
fn deadline_failure(task: &TaskRow, message: &str) -> Report {
    let mut failure = Failure::new(HTTP_DEADLINE, message);
    let deadline = task.deadline_at.map(|it| Json::text(&it.to_string()));
    failure.data = deadline.map(|it| Json::object([(DEADLINE_AT, &it)]));
    Report::Failed { failure, retryable: false, retry_after_ms: None, thrown: None }
}

/// Completes the task with a response, or fails the attempt if the policy retries this status.
fn report_response(retry_on: &[String], answer: OutboundResponse, request_gone: bool) -> Report {
    let status = answer.status;
    let cause = match status {
        429 => "HTTP_429",
        500..=599 => "HTTP_5XX",
        _ => "",
    };
    let pause = match answer.headers.get("retry-after") {
        Some(HeaderField::Text(text)) => text.trim().parse::<u64>().ok(),
        _ => None,
    };
    let (output, body_error) = HttpTaskOutput::of(answer, request_gone);
    if !retry_on.iter().any(|it| it == cause) {
        return output.report(body_error);
    }
    let mut failure = match body_error {
        Some(reason) => Failure::new(HTTP_BODY, reason),
        None => Failure::new("HTTP_STATUS", format!("the response status was {status}")),
    };
    failure.data = match Json::of(&output) {
        Ok(output) => Some(output),
        Err(error) => return permanent_failure(HTTP_BODY, &error.to_string()),
    };
    let retry_after_ms = pause.map(|it| it.saturating_mul(1_000).min(MAX_RETRY_AFTER_MS));
    Report::Failed { failure, retryable: true, retry_after_ms, thrown: None }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn answer(status: u16) -> OutboundResponse {
        let headers =
            BTreeMap::from([("retry-after".to_owned(), HeaderField::Text("2".to_owned()))]);
        OutboundResponse { status, headers, body: Ok(Json::null()) }
    }

    #[test]
    fn only_what_the_policy_names_is_tried_again() {
        let policy = ["HTTP_5XX".to_owned(), "HTTP_429".to_owned()];
        for status in [200, 302, 404, 409] {
            assert!(matches!(
                report_response(&policy, answer(status), false),
                Report::Completed(_)
            ));
        }
        assert!(matches!(report_response(&[], answer(503), false), Report::Completed(_)));
        for status in [429, 500, 503] {
            let Report::Failed { failure, retryable, retry_after_ms, .. } =
                report_response(&policy, answer(status), false)
            else {
                panic!("{status} is worth another attempt");
            };
            assert!(retryable && failure.data.is_some());
            assert_eq!(retry_after_ms, Some(2_000));
        }
    }
}
