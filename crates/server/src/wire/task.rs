//! Tasks: for workers, for people, and what they report.

use meantime_core::{Json, TaskKind, TaskOutcome, Timestamp};
use meantime_kernel::command::{self, LeaseToken};
use meantime_kernel::store::TaskRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DurationParam, Failure};

/// A worker asks for tasks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskClaim {
    /// Who asks: a name for people.
    pub(crate) worker: String,
    /// Types it can do; any worker task when there are none.
    #[serde(default)]
    pub(crate) types: Vec<String>,
    /// Queues it serves; the default queue when there are none.
    #[serde(default)]
    pub(crate) queues: Vec<String>,
    /// How many tasks at most.
    #[serde(default = "one")]
    #[schema(default = 1, minimum = 1)]
    pub(crate) max: usize,
    /// For how long, in milliseconds of real time.
    #[serde(default = "minute")]
    #[schema(default = 60000, minimum = 1, format = "uint64")]
    pub(crate) lease_ms: u64,
    /// How long to wait when there is nothing to do, in milliseconds.
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

/// Tasks for a worker.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimedTasks {
    /// As many as there are, at most as many as were asked for.
    pub(crate) tasks: Vec<ClaimedTask>,
}

/// A task in a worker's hands.
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
    /// What the worker gets.
    #[schema(value_type = serde_json::Value)]
    input: Json,
    /// Which attempt this is, from 1.
    attempt: u32,
    /// To be sent with every report. A fence, not a credential.
    lease_token: String,
    /// When the lease expires.
    #[schema(value_type = String, format = DateTime)]
    lease_until: Timestamp,
    /// When all attempts must be over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline_at: Option<Timestamp>,
    /// The same for every attempt of the same work: for systems that de-duplicate.
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

/// Reads a token. What was never given out is none that holds.
pub(crate) fn read_token(text: &str) -> LeaseToken {
    let parsed = text.split_once('.').and_then(|(epoch, claims)| {
        Some(LeaseToken { epoch: epoch.parse().ok()?, claims: claims.parse().ok()? })
    });
    // No task is claimed for the zeroth time.
    parsed.unwrap_or(LeaseToken { epoch: 0, claims: 0 })
}

/// A task is done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskCompletion {
    /// The token of the claim; people need none.
    #[serde(default)]
    pub(crate) lease_token: Option<String>,
    /// The result.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) output: Json,
}

/// A task did not work.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskFailure {
    /// The token of the claim; people need none.
    #[serde(default)]
    pub(crate) lease_token: Option<String>,
    /// What happened.
    #[serde(default)]
    pub(crate) error: Option<TaskError>,
    /// Whether another attempt may help.
    #[serde(default)]
    #[schema(default = true)]
    pub(crate) retryable: Option<bool>,
    /// How long to wait before it, as a duration or in seconds.
    #[serde(default)]
    #[schema(inline, example = "PT30S")]
    pub(crate) retry_after: Option<DurationParam>,
    /// A business error, thrown on purpose.
    #[serde(default)]
    pub(crate) bpmn_error: Option<BpmnError>,
}

/// What happened to a task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskError {
    /// Stable code, chosen by the worker.
    pub(crate) code: String,
    /// One sentence for people.
    #[serde(default)]
    pub(crate) message: String,
    /// Anything else.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) data: Option<Json>,
}

/// A business error, thrown on purpose.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BpmnError {
    /// The error code that a catcher names.
    pub(crate) code: String,
    /// One sentence for people.
    #[serde(default)]
    pub(crate) message: Option<String>,
    /// Variables for the catcher.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) variables: Option<Json>,
}

/// A worker needs more time.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LeaseExtension {
    /// The token of the claim.
    pub(crate) lease_token: String,
    /// How long from now, in milliseconds.
    #[schema(minimum = 1, format = "uint64")]
    pub(crate) lease_ms: u64,
}

/// The new end of a lease.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExtendedLease {
    /// In real time.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) lease_until: Timestamp,
}

/// Many reports at once.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskReports {
    /// The reports.
    pub(crate) results: Vec<TaskReport>,
}

/// One of many reports: an output, or an error.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskReport {
    /// The task.
    pub(crate) id: String,
    /// The token of the claim.
    #[serde(default)]
    pub(crate) lease_token: Option<String>,
    /// The result, when it is done.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) output: Json,
    /// What happened, when it did not work.
    #[serde(default)]
    pub(crate) error: Option<TaskError>,
    /// Whether another attempt may help.
    #[serde(default)]
    #[schema(default = true)]
    pub(crate) retryable: Option<bool>,
    /// How long to wait before it.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) retry_after: Option<DurationParam>,
    /// A business error, thrown on purpose.
    #[serde(default)]
    pub(crate) bpmn_error: Option<BpmnError>,
}

/// What became of many reports.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskReportResults {
    /// In the order of the request.
    pub(crate) results: Vec<TaskReportResult>,
}

/// What became of one of many reports.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskReportResult {
    /// The task.
    pub(crate) id: String,
    /// The HTTP status that the report alone would have had.
    pub(crate) status: u16,
    /// The code of its problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
}

/// Whose task it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskAssignment {
    /// The person.
    pub(crate) assignee: String,
}

/// A task that is not over, or is over and nobody awaited it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    /// Its id.
    id: String,
    /// Who does it: `worker`, `engine` or `user`.
    kind: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    name: String,
    /// Where in the definition.
    element: String,
    /// The instance that waits for it.
    instance_id: String,
    /// The name of the definition.
    definition: String,
    /// `ready`, `leased`, `held` by an incident, or `done`.
    state: &'static str,
    /// The queue; empty is the default queue.
    queue: String,
    /// Higher goes first.
    priority: i32,
    /// What whoever does it gets.
    #[schema(value_type = serde_json::Value)]
    input: Json,
    /// Static headers of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    headers: Option<Json>,
    /// Attempts so far. A lease that expires uses up none.
    attempt: u32,
    /// Attempts at most.
    max_attempts: u32,
    /// The person it is assigned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<String>,
    /// The worker that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// When its lease expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    lease_until: Option<Timestamp>,
    /// When it was scheduled.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it can be claimed.
    #[schema(value_type = String, format = DateTime)]
    available_at: Timestamp,
    /// When all attempts must be over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline_at: Option<Timestamp>,
    /// How its last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<Failure>,
    /// Leases in a row that expired without a report.
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
