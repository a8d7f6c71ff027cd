//! Wire types of tasks: claims, reports, lists.

use meantime_core::{Json, TaskKind, TaskOutcome, Timestamp};
use meantime_kernel::command::{self, LeaseToken};
use meantime_kernel::store::TaskRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DurationParam, Failure};

/// The request of a worker for tasks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskClaim {
    /// The name of the worker, for people.
    pub(crate) worker: String,
    /// The task types to claim; all types of worker tasks by default.
    #[serde(default)]
    pub(crate) types: Vec<String>,
    /// The queues to claim from; the default queue by default.
    #[serde(default)]
    pub(crate) queues: Vec<String>,
    /// Maximum number of tasks.
    #[serde(default = "one")]
    #[schema(default = 1, minimum = 1)]
    pub(crate) max: usize,
    /// The duration of the lease, in milliseconds of real time.
    #[serde(default = "minute")]
    #[schema(default = 60000, minimum = 1, format = "uint64")]
    pub(crate) lease_ms: u64,
    /// How long to wait for a task if there is none, in milliseconds.
    #[serde(default)]
    #[schema(default = 0, format = "uint64")]
    pub(crate) wait_ms: u64,
}

const fn one() -> usize {
    1
}

const fn minute() -> u64 {
    60_000
}

/// The claimed tasks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimedTasks {
    /// At most `max` tasks; empty if there are none.
    pub(crate) tasks: Vec<ClaimedTask>,
}

/// A task that is leased to a worker.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimedTask {
    /// The task.
    id: String,
    /// Its type.
    #[serde(rename = "type")]
    name: String,
    /// The instance that waits for it.
    instance_id: String,
    /// The input of the task.
    #[schema(value_type = serde_json::Value)]
    input: Json,
    /// The number of this attempt, from 1.
    attempt: u32,
    /// The fencing token to send with every report. It is not a credential.
    lease_token: String,
    /// When the lease expires.
    #[schema(value_type = String, format = DateTime)]
    lease_until: Timestamp,
    /// The deadline for all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline_at: Option<Timestamp>,
    /// The same for all attempts of this task, for systems that deduplicate requests.
    idempotency_key: String,
    /// Static headers of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    headers: Option<Json>,
}

impl From<command::ClaimedTask> for ClaimedTask {
    fn from(task: command::ClaimedTask) -> Self {
        Self {
            id: task.id.to_string(),
            instance_id: task.id.0.instance.to_string(),
            idempotency_key: task.idempotency_key(),
            name: task.name,
            input: task.input,
            attempt: task.attempt,
            lease_token: token_text(task.token),
            lease_until: task.lease_until,
            deadline_at: task.deadline_at,
            headers: task.headers,
        }
    }
}

fn token_text(token: LeaseToken) -> String {
    format!("{}.{}", token.epoch, token.claims)
}

/// Parses a lease token. A text that is not a token becomes one that no lease has.
pub(crate) fn read_token(text: &str) -> LeaseToken {
    let parsed = text.split_once('.').and_then(|(epoch, claims)| {
        Some(LeaseToken { epoch: epoch.parse().ok()?, claims: claims.parse().ok()? })
    });
    // Claims count from 1, so that no lease has claim 0.
    parsed.unwrap_or(LeaseToken { epoch: 0, claims: 0 })
}

/// The report that a task has completed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskCompletion {
    /// The token of the claim; user tasks need none.
    #[serde(default)]
    pub(crate) lease_token: Option<String>,
    /// The result.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) output: Json,
    /// Why an operator completes it in place of its worker; recorded in the history. Instead of a
    /// token.
    #[serde(default)]
    #[schema(example = "the worker was decommissioned")]
    pub(crate) reason: Option<String>,
}

/// The report that an attempt has failed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskFailure {
    /// The token of the claim; user tasks need none.
    #[serde(default)]
    pub(crate) lease_token: Option<String>,
    /// The error.
    #[serde(default)]
    pub(crate) error: Option<TaskError>,
    /// Whether to retry.
    #[serde(default)]
    #[schema(default = true)]
    pub(crate) retryable: Option<bool>,
    /// The delay before the retry, as a duration or in seconds.
    #[serde(default)]
    #[schema(inline, example = "PT30S")]
    pub(crate) retry_after: Option<DurationParam>,
    /// A BPMN error to throw instead.
    #[serde(default)]
    pub(crate) bpmn_error: Option<BpmnError>,
    /// Why an operator fails it in place of its worker; recorded in the history. Instead of a
    /// token.
    #[serde(default)]
    #[schema(example = "the order was cancelled")]
    pub(crate) reason: Option<String>,
}

/// The error of a failed attempt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskError {
    /// Stable code, chosen by the worker.
    pub(crate) code: String,
    /// A message for people.
    #[serde(default)]
    pub(crate) message: String,
    /// Additional data.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) data: Option<Json>,
}

/// A BPMN error, thrown by a worker.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BpmnError {
    /// The error code that the catching event names.
    pub(crate) code: String,
    /// A message for people.
    #[serde(default)]
    pub(crate) message: Option<String>,
    /// Variables for the catching event.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) variables: Option<Json>,
}

/// The request to extend a lease.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LeaseExtension {
    /// The token of the claim.
    pub(crate) lease_token: String,
    /// The new duration from now, in milliseconds.
    #[schema(minimum = 1, format = "uint64")]
    pub(crate) lease_ms: u64,
}

/// The new end of a lease.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExtendedLease {
    /// When the lease expires, in real time.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) lease_until: Timestamp,
}

/// Reports on several tasks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskReports {
    /// The reports, one for each task.
    pub(crate) results: Vec<TaskReport>,
    /// Claims further tasks in the same commit. The answer waits for the reports only, never for
    /// tasks: `waitMs` must not be given.
    #[serde(default)]
    pub(crate) claim: Option<TaskClaim>,
}

/// A report on one task: an output, or an error.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskReport {
    /// The task.
    pub(crate) id: String,
    /// The token of the claim.
    #[serde(default)]
    pub(crate) lease_token: Option<String>,
    /// The output of a completed task.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) output: Json,
    /// The error of a failed attempt.
    #[serde(default)]
    pub(crate) error: Option<TaskError>,
    /// Whether to retry.
    #[serde(default)]
    #[schema(default = true)]
    pub(crate) retryable: Option<bool>,
    /// The delay before the retry.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) retry_after: Option<DurationParam>,
    /// A BPMN error to throw instead.
    #[serde(default)]
    pub(crate) bpmn_error: Option<BpmnError>,
}

/// The results of several reports.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskReportResults {
    /// In the order of the request.
    pub(crate) results: Vec<TaskReportResult>,
    /// The claimed tasks, if the request has a claim. Empty if there are none, and if the claim
    /// failed: the reports count all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tasks: Option<Vec<ClaimedTask>>,
}

/// The result of one report.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskReportResult {
    /// The task.
    pub(crate) id: String,
    /// The HTTP status that the report would have on its own.
    pub(crate) status: u16,
    /// The error code, if it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// The error message, if it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
}

/// The assignee of a user task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskAssignment {
    /// Name of the person.
    pub(crate) assignee: String,
}

/// A task that is open, or a detached task that has ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    /// Id, opaque.
    id: String,
    /// Who does it: `worker`, `engine` or `user`.
    kind: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    name: String,
    /// The element of the definition.
    element: String,
    /// The instance that waits for it.
    instance_id: String,
    /// The name of the definition.
    definition: String,
    /// `ready`, `leased`, `held` by an incident, or `done`.
    state: &'static str,
    /// The queue; empty is the default queue.
    queue: String,
    /// Tasks of higher priority are claimed first.
    priority: i32,
    /// The input of the task.
    #[schema(value_type = serde_json::Value)]
    input: Json,
    /// Static headers of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    headers: Option<Json>,
    /// Attempts so far. An expired lease does not count as one.
    attempt: u32,
    /// Maximum number of attempts.
    max_attempts: u32,
    /// The person it is assigned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<String>,
    /// The worker that holds the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// When its lease expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    lease_until: Option<Timestamp>,
    /// When it was scheduled.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it can be claimed; for a leased task, when it was claimed.
    #[schema(value_type = String, format = DateTime)]
    available_at: Timestamp,
    /// The deadline for all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline_at: Option<Timestamp>,
    /// The error of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<Failure>,
    /// Number of consecutive leases that expired without a report.
    lease_expiries: u32,
}

impl Task {
    pub(crate) fn of(row: &TaskRow, definition: String) -> Self {
        Self {
            id: row.id.to_string(),
            kind: match row.spec.kind {
                TaskKind::Worker => "worker",
                TaskKind::Engine => "engine",
                TaskKind::User => "user",
            },
            name: row.spec.name.clone(),
            element: row.spec.element.clone(),
            instance_id: row.id.0.instance.to_string(),
            definition,
            state: row.state.name(),
            queue: row.spec.queue.clone(),
            priority: row.spec.priority,
            input: row.spec.input.clone(),
            headers: row.spec.headers.clone(),
            attempt: row.attempt,
            max_attempts: row.spec.retry.max_attempts,
            assignee: row.assignee.clone(),
            worker: row.lease.as_ref().map(|lease| lease.worker.clone()),
            lease_until: row.lease.as_ref().map(|lease| lease.until),
            created_at: row.created_at,
            available_at: row.available_at,
            deadline_at: row.deadline_at,
            last_error: match &row.outcome {
                Some(TaskOutcome::Failed { failure, .. }) => Some(failure.into()),
                _ => None,
            },
            lease_expiries: row.expiries,
        }
    }
}
