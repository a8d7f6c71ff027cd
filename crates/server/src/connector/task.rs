//! Runs engine tasks by their name.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use meantime_core::{Failure, Json, Timestamp};
use meantime_journey::surface::{HTTP_BODY, HTTP_DEADLINE, HTTP_TASK};
use meantime_kernel::clock::Clock;
use meantime_kernel::command::Report;
use meantime_kernel::driver::EngineTasks;
use meantime_kernel::store::TaskRow;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::cache::Cache;
use super::client_auth::Tokens;
use super::credential::Profile;
use super::http::{Allowance, Answer, Call, Field, Outbound, Trouble};
use crate::journey::{Requests, Secrets};
use crate::settings::{EgressSettings, Settings};

/// The name of a task that is an HTTP call of a flow.
const HTTP: &str = "http";

/// The names of tasks of journeys besides their HTTP calls.
const CACHE: &str = "cache:v1";
const API_KEY: &str = "apiKeyValidate:v1";
const JWT: &str = "jwtValidate:v1";

/// Everything the engine can do outside.
pub(crate) struct Connectors {
    outbound: Outbound,
    settings: EgressSettings,
    pub(super) clock: Arc<dyn Clock>,
    places: Semaphore,
    pub(super) requests: Requests,
    pub(super) secrets: Secrets,
    pub(super) tokens: Tokens,
    pub(super) profiles: BTreeMap<String, Profile>,
    cache: Cache,
}

/// The input of an HTTP task.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HttpInput {
    method: String,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Option<Json>,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

/// The output of an HTTP task.
#[derive(Debug, Serialize)]
pub(super) struct HttpOutput {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, Field>,
    pub(super) body: Json,
    /// The inbound request whose headers should have gone along was over.
    #[serde(rename = "requestGone", skip_serializing_if = "std::ops::Not::not")]
    pub(super) request_gone: bool,
}

impl HttpOutput {
    /// The output, and why the body is not in it.
    pub(super) fn of(answer: Answer, request_gone: bool) -> (Self, Option<String>) {
        let Answer { status, headers, body } = answer;
        let (body, unkept) = match body {
            Ok(body) => (body, None),
            Err(reason) => (Json::null(), Some(reason)),
        };
        (Self { status, headers, body, request_gone }, unkept)
    }

    /// The end of the task. Without the body it is a failure with the rest of the answer.
    pub(super) fn report(&self, unkept: Option<String>) -> Report {
        match (Json::of(self), unkept) {
            (Ok(output), None) => Report::Completed(output),
            (Ok(output), Some(reason)) => {
                let mut failure = Failure::new(HTTP_BODY, reason);
                failure.data = Some(output);
                Report::Failed { failure, retryable: false, retry_after_ms: None, thrown: None }
            }
            (Err(error), _) => never(HTTP_BODY, &error.to_string()),
        }
    }
}

impl Connectors {
    pub(crate) fn new(
        settings: &Settings,
        requests: Requests,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let (egress, journeys) = (settings.egress.clone(), &settings.journeys);
        Ok(Self {
            outbound: Outbound::new(&egress, settings.http.max_json_depth)?,
            places: Semaphore::new(egress.max_calls),
            settings: egress,
            clock,
            requests,
            secrets: Secrets::read(&journeys.secrets)?,
            tokens: Tokens::default(),
            profiles: Profile::all(&journeys.profiles),
            cache: Cache::new(journeys.max_cache_bytes),
        })
    }

    async fn http(&self, task: &TaskRow) -> Report {
        let input = match task.spec.input.read::<HttpInput>() {
            Ok(input) => input,
            Err(error) => return never("HTTP_INVALID", &error.to_string()),
        };
        let HttpInput { method, url, headers, body, timeout_ms } = input;
        match self.outbound_call(task, Call { method, url, headers, body }, timeout_ms).await {
            Ok(answer) => {
                let (output, unkept) = HttpOutput::of(answer, false);
                output.report(unkept)
            }
            // A flow hears of its deadline when that comes.
            Err(trouble) if trouble.code == HTTP_DEADLINE => {
                failed("HTTP_TIMEOUT", &trouble.message, true)
            }
            Err(trouble) => failed(trouble.code, &trouble.message, trouble.retryable),
        }
    }

    /// Makes a call for a task, within what the task may take.
    pub(super) async fn outbound_call(
        &self,
        task: &TaskRow,
        call: Call,
        timeout_ms: Option<u64>,
    ) -> Result<Answer, Trouble> {
        // What waits for a place still counts against the budget, so it is measured afterwards.
        let Ok(_place) = self.places.acquire().await else {
            return Err(Trouble::new("HTTP_UNREACHABLE", "the engine is stopping", false));
        };
        let left = left(task, self.clock.now().engine);
        if left == Some(0) {
            // Nothing is left: the call does not start (D3).
            return Err(Trouble::new(HTTP_DEADLINE, "nothing is left of the deadline", false));
        }
        let timeout = self.timeout(task, timeout_ms, left);
        let is_last = left.is_some_and(|left| timeout >= Duration::from_millis(left));
        let idempotency_key = task.idempotency_key();
        let allowance = Allowance { timeout, is_last, budget_ms: left, idempotency_key };
        self.outbound.call(call, allowance).await
    }

    /// The shortest of what the call, the task, the configuration and the deadline allow.
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
                HTTP => self.http(&task).await,
                HTTP_TASK => self.journey_call(&task).await,
                CACHE => self.cache.run(&task.spec.input, self.clock.now().engine),
                API_KEY | JWT => self.check_credential(&task).await,
                other => never("UNKNOWN_ENGINE_TASK", &format!("this release cannot do {other:?}")),
            }
        })
    }
}

/// What is left until the deadline, in milliseconds.
fn left(task: &TaskRow, now: Timestamp) -> Option<u64> {
    let deadline = task.deadline_at?;
    Some(u64::try_from(deadline.saturating_since(now)).unwrap_or_default())
}

pub(super) fn never(code: &str, message: &str) -> Report {
    failed(code, message, false)
}

pub(super) fn failed(code: &str, message: &str, retryable: bool) -> Report {
    let failure = Failure::new(code, message);
    Report::Failed { failure, retryable, retry_after_ms: None, thrown: None }
}
