//! Runs engine tasks by their name.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use meantime_core::{Failure, Json, Timestamp};
use meantime_kernel::clock::Clock;
use meantime_kernel::command::Report;
use meantime_kernel::driver::EngineTasks;
use meantime_kernel::store::TaskRow;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::Guard;
use super::http::{Allowance, Answer, Call, Outbound};
use crate::settings::EgressSettings;

/// The name of a task that is an HTTP call of a flow.
const HTTP: &str = "http";

/// Everything the engine can do outside.
pub(crate) struct Connectors {
    outbound: Outbound,
    settings: EgressSettings,
    clock: Arc<dyn Clock>,
    places: Semaphore,
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
struct HttpOutput {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Json,
}

impl Connectors {
    pub(crate) fn new(settings: &EgressSettings, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let outbound = Outbound::new(Guard::new(settings)?, settings);
        let places = Semaphore::new(settings.calls);
        Ok(Self { outbound, settings: settings.clone(), clock, places })
    }

    async fn http(&self, task: &TaskRow) -> Report {
        let input = match task.spec.input.read::<HttpInput>() {
            Ok(input) => input,
            Err(error) => return never("HTTP_INVALID", &error.to_string()),
        };
        // What waits for a place still counts against the budget, so it is measured afterwards.
        let Ok(_place) = self.places.acquire().await else {
            return never("HTTP_UNREACHABLE", "the engine is stopping");
        };
        let left = left(task, self.clock.now().engine);
        if left == Some(0) {
            // Nothing is left: the call does not start (D3).
            return failed("HTTP_TIMEOUT", "nothing is left of the deadline", true);
        }
        let timeout = self.timeout(task, input.timeout_ms, left);
        let allowance =
            Allowance { timeout, budget_ms: left, idempotency_key: task.idempotency_key() };
        let HttpInput { method, url, headers, body, .. } = input;
        match self.outbound.call(Call { method, url, headers, body }, allowance).await {
            Ok(Answer { status, headers, body }) => {
                let output = Json::of(&HttpOutput { status, headers, body });
                Report::Completed(output.unwrap_or_default())
            }
            Err(trouble) => Report::Failed {
                failure: trouble.failure(),
                retryable: trouble.retryable,
                retry_after_ms: None,
                thrown: None,
            },
        }
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

fn never(code: &str, message: &str) -> Report {
    failed(code, message, false)
}

fn failed(code: &str, message: &str, retryable: bool) -> Report {
    let failure = Failure::new(code, message);
    Report::Failed { failure, retryable, retry_after_ms: None, thrown: None }
}
