//! Runs engine tasks by their type.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use meantime_core::{Failure, Json, Timestamp};
use meantime_flow::{HTTP_TASK as FLOW_HTTP_TASK, HttpCall};
use meantime_journey::surface::{HTTP_BODY, HTTP_DEADLINE, HTTP_TASK as JOURNEY_HTTP_TASK};
use meantime_kernel::clock::Clock;
use meantime_kernel::command::Report;
use meantime_kernel::driver::EngineTasks;
use meantime_kernel::store::TaskRow;
use serde::Serialize;
use tokio::sync::Semaphore;

use super::cache::Cache;
use super::client_auth::TokenCache;
use super::credential::CredentialProfile;
use super::http::{
    CallLimits, HeaderField, HttpClient, HttpError, OutboundRequest, OutboundResponse,
};
use crate::journey::{InboundRequests, Secrets};
use crate::settings::{EgressSettings, Settings};

/// Engine task types of journeys, besides HTTP calls.
const CACHE_TASK: &str = "cache:v1";
const API_KEY_TASK: &str = "apiKeyValidate:v1";
const JWT_TASK: &str = "jwtValidate:v1";

/// The runner of engine tasks.
pub(crate) struct Connectors {
    outbound: HttpClient,
    settings: EgressSettings,
    pub(super) clock: Arc<dyn Clock>,
    call_permits: Semaphore,
    pub(super) requests: InboundRequests,
    pub(super) secrets: Secrets,
    pub(super) tokens: TokenCache,
    pub(super) profiles: BTreeMap<String, CredentialProfile>,
    cache: Cache,
}

/// The output of an HTTP task.
#[derive(Debug, Serialize)]
pub(super) struct HttpTaskOutput {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, HeaderField>,
    pub(super) body: Json,
    /// The inbound request whose headers should be passed through had ended.
    #[serde(rename = "requestGone", skip_serializing_if = "std::ops::Not::not")]
    pub(super) request_gone: bool,
}

impl HttpTaskOutput {
    /// The output, and why the body is missing in it.
    pub(super) fn of(answer: OutboundResponse, request_gone: bool) -> (Self, Option<String>) {
        let OutboundResponse { status, headers, body } = answer;
        let (body, body_error) = match body {
            Ok(body) => (body, None),
            Err(reason) => (Json::null(), Some(reason)),
        };
        (Self { status, headers, body, request_gone }, body_error)
    }

    /// The report of the task. Without the body it is a failure with the rest as data.
    pub(super) fn report(&self, body_error: Option<String>) -> Report {
        match (Json::of(self), body_error) {
            (Ok(output), None) => Report::Completed(output),
            (Ok(output), Some(reason)) => {
                let mut failure = Failure::new(HTTP_BODY, reason);
                failure.data = Some(output);
                Report::Failed { failure, retryable: false, retry_after_ms: None, thrown: None }
            }
            (Err(error), _) => permanent_failure(HTTP_BODY, &error.to_string()),
        }
    }
}

impl Connectors {
    pub(crate) fn new(
        settings: &Settings,
        requests: InboundRequests,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let (egress, journeys) = (settings.egress.clone(), &settings.journeys);
        Ok(Self {
            outbound: HttpClient::new(&egress, settings.http.max_json_depth)?,
            call_permits: Semaphore::new(egress.max_calls),
            settings: egress,
            clock,
            requests,
            secrets: Secrets::read(&journeys.secrets)?,
            tokens: TokenCache::default(),
            profiles: CredentialProfile::load_all(&journeys.profiles),
            cache: Cache::new(journeys.max_cache_bytes),
        })
    }

    async fn flow_call(&self, task: &TaskRow) -> Report {
        let input = match task.spec.input.read::<HttpCall>() {
            Ok(input) => input,
            Err(error) => return permanent_failure("HTTP_INVALID", &error.to_string()),
        };
        let HttpCall { method, url, headers, body, timeout_ms } = input;
        match self
            .outbound_call(task, OutboundRequest { method, url, headers, body }, timeout_ms)
            .await
        {
            Ok(answer) => {
                let (output, body_error) = HttpTaskOutput::of(answer, false);
                output.report(body_error)
            }
            // The deadline event ends the flow; the task itself only reports a timeout.
            Err(error) if error.code == HTTP_DEADLINE => {
                task_failure("HTTP_TIMEOUT", &error.message, true)
            }
            Err(error) => task_failure(error.code, &error.message, error.retryable),
        }
    }

    /// Sends a request for a task, within the limits of the task.
    pub(super) async fn outbound_call(
        &self,
        task: &TaskRow,
        call: OutboundRequest,
        timeout_ms: Option<u64>,
    ) -> Result<OutboundResponse, HttpError> {
        // Waiting for a permit uses up the budget, so the remaining time is computed afterwards.
        let Ok(_permit) = self.call_permits.acquire().await else {
            return Err(HttpError::new("HTTP_UNREACHABLE", "the engine is stopping", false));
        };
        let left = remaining_ms(task, self.clock.now().engine);
        if left == Some(0) {
            // The deadline has passed: the call does not start (D3).
            return Err(HttpError::new(HTTP_DEADLINE, "the deadline has passed", false));
        }
        let timeout = self.timeout(task, timeout_ms, left);
        let is_deadline = left.is_some_and(|left| timeout >= Duration::from_millis(left));
        let idempotency_key = task.idempotency_key();
        let limits = CallLimits { timeout, is_deadline, budget_ms: left, idempotency_key };
        self.outbound.call(call, limits).await
    }

    /// The smallest limit of call, task, configuration and deadline.
    fn timeout(&self, task: &TaskRow, asked: Option<u64>, left: Option<u64>) -> Duration {
        let usual: Duration = self.settings.timeout.into();
        let most: Duration = self.settings.max_timeout.into();
        let asked = asked.map_or(usual, Duration::from_millis).min(most);
        let bounds = [task.spec.timeout_ms, left].into_iter().flatten().map(Duration::from_millis);
        bounds.fold(asked, Duration::min)
    }
}

impl EngineTasks for Connectors {
    fn run(&self, task: TaskRow) -> Pin<Box<dyn Future<Output = Report> + Send + '_>> {
        Box::pin(async move {
            match task.spec.name.as_str() {
                FLOW_HTTP_TASK => self.flow_call(&task).await,
                JOURNEY_HTTP_TASK => self.journey_call(&task).await,
                CACHE_TASK => self.cache.run(&task.spec.input, self.clock.now().engine),
                API_KEY_TASK | JWT_TASK => self.check_credential(&task).await,
                other => permanent_failure(
                    "UNKNOWN_ENGINE_TASK",
                    &format!("this release has no engine task of type {other:?}"),
                ),
            }
        })
    }
}

/// The time left until the deadline, in milliseconds.
fn remaining_ms(task: &TaskRow, now: Timestamp) -> Option<u64> {
    let deadline = task.deadline_at?;
    Some(u64::try_from(deadline.saturating_since(now)).unwrap_or_default())
}

pub(super) fn permanent_failure(code: &str, message: &str) -> Report {
    task_failure(code, message, false)
}

pub(super) fn task_failure(code: &str, message: &str, retryable: bool) -> Report {
    let failure = Failure::new(code, message);
    Report::Failed { failure, retryable, retry_after_ms: None, thrown: None }
}
