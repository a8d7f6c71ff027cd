//! `/tasks`: claims and reports of workers, and user tasks.

use axum::extract::State;
use meantime_core::{Failure, TaskId, TaskKind, Thrown, Timestamp};
use meantime_kernel::command::{ClaimCommand, Command, Error, Reply, Report};
use meantime_kernel::store::{TaskFilter, TaskState};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::reply::{Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::audit;
use crate::auth::{Caller, Permission};
use crate::concurrency::RequestPermit;
use crate::extract::{JsonBody, PathId, Query};
use crate::pagination;
use crate::problem::{Problem, ProblemCode};
use crate::wire::{
    BpmnError, ClaimedTask, ClaimedTasks, DurationParam, ExtendedLease, LeaseExtension,
    OperationResult, Page, Task, TaskAssignment, TaskClaim, TaskCompletion, TaskError, TaskFailure,
    TaskReport, TaskReportResult, TaskReportResults, TaskReports, read_token,
};

/// The code of a failure for which the worker gave none.
const DEFAULT_FAILURE_CODE: &str = "TASK_FAILED";

pub(super) fn routes() -> Routes {
    Routes::new()
        .add(Permission::Work, routes!(claim))
        .add(Permission::Work, routes!(complete))
        .add(Permission::Work, routes!(fail))
        .add(Permission::Work, routes!(extend))
        .add(Permission::Work, routes!(complete_many))
        .add_long(Permission::Read, routes!(list))
        .add(Permission::Read, routes!(get))
        .add(Permission::Operate, routes!(assign))
        .add(Permission::Operate, routes!(unassign))
}

/// Claims tasks; `waitMs` waits for some if there are none.
#[utoipa::path(
    post, path = "/tasks/claim", operation_id = "claimTasks", tag = "tasks", request_body = TaskClaim,
    responses((status = 200, description = "Tasks, possibly none", body = ClaimedTasks))
)]
async fn claim(
    State(app): State<App>,
    permit: RequestPermit,
    JsonBody(claim): JsonBody<TaskClaim>,
) -> Result<ClaimedTasks> {
    let longest: std::time::Duration = app.settings().http.max_claim_wait.into();
    let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
    let wait_ms = claim.wait_ms.min(longest);
    let command = Command::Claim(ClaimCommand { wait_ms, ..claim_command(claim) });
    // Long polls end at once when the server stops.
    let reply = async {
        tokio::select! {
            reply = app.kernel().call(command) => reply,
            () = app.drain_started(), if wait_ms > 0 => Ok(Reply::Tasks(Vec::new())),
        }
    };
    let reply = if wait_ms > 0 { permit.release_while(reply).await?? } else { reply.await? };
    let Reply::Tasks(tasks) = reply else {
        return Err(Problem::new(ProblemCode::Internal, "a claim was answered by something else"));
    };
    ok(ClaimedTasks { tasks: tasks.into_iter().map(ClaimedTask::from).collect() })
}

fn claim_command(claim: TaskClaim) -> ClaimCommand {
    let TaskClaim { worker, types, queues, max, lease_ms, wait_ms } = claim;
    ClaimCommand { worker, types, queues, max, lease_ms, wait_ms }
}

/// Completes a task: a worker with the token of its lease, an operator with a reason.
#[utoipa::path(
    post, path = "/tasks/{id}/complete", operation_id = "completeTask", tag = "tasks", request_body = TaskCompletion,
    params(("id" = String, Path, description = "The task")),
    responses((status = 200, description = "The outcome is recorded", body = OperationResult))
)]
async fn complete(
    State(app): State<App>,
    caller: Caller,
    PathId(task): PathId<TaskId>,
    JsonBody(body): JsonBody<TaskCompletion>,
) -> Result<OperationResult> {
    let by = Reporter { token: body.lease_token, reason: body.reason };
    send_report(&app, &caller, task, by, Report::Completed(body.output)).await
}

/// Fails an attempt of a task. It is retried unless the attempts are exhausted or `retryable` is
/// false.
#[utoipa::path(
    post, path = "/tasks/{id}/fail", operation_id = "failTask", tag = "tasks", request_body = TaskFailure,
    params(("id" = String, Path, description = "The task")),
    responses((status = 200, description = "The failure is recorded", body = OperationResult))
)]
async fn fail(
    State(app): State<App>,
    caller: Caller,
    PathId(task): PathId<TaskId>,
    JsonBody(body): JsonBody<TaskFailure>,
) -> Result<OperationResult> {
    let now = app.kernel().now().engine;
    let report =
        failure_report(body.error, body.retryable, body.retry_after, body.bpmn_error, now)?;
    let by = Reporter { token: body.lease_token, reason: body.reason };
    send_report(&app, &caller, task, by, report).await
}

/// Who reports on a task: a worker with a token, an operator with a reason, or a person on a user
/// task.
struct Reporter {
    token: Option<String>,
    reason: Option<String>,
}

async fn send_report(
    app: &App,
    caller: &Caller,
    task: TaskId,
    by: Reporter,
    report: Report,
) -> Result<OperationResult> {
    let command = match by {
        Reporter { token: Some(_), reason: Some(_) } => {
            let text = "a report has a lease token or a reason: workers send the token of their \
                        lease, operators a reason";
            return Err(Problem::new(ProblemCode::InvalidBody, text));
        }
        Reporter { token: None, reason: Some(reason) } => {
            if !caller.role.is_some_and(|role| Permission::Operate.is_granted_to(role)) {
                let text = "only operators report on a task without the token of its lease";
                return Err(Problem::new(ProblemCode::Forbidden, text));
            }
            let audit = caller.audit_info(Some(reason));
            Command::ReportByOperator { task, report, audit }
        }
        Reporter { token, reason: None } => {
            let token = token.as_deref().map(read_token);
            Command::Report { task, token, report }
        }
    };
    app.kernel().call(command).await?;
    ok(OperationResult {})
}

fn failure_report(
    error: Option<TaskError>,
    retryable: Option<bool>,
    retry_after: Option<DurationParam>,
    thrown: Option<BpmnError>,
    now: Timestamp,
) -> std::result::Result<Report, Problem> {
    let failure = match (error, &thrown) {
        (Some(TaskError { code, message, data }), _) => {
            Failure { data, ..Failure::new(code, message) }
        }
        (None, Some(thrown)) => {
            Failure::new(thrown.code.clone(), thrown.message.clone().unwrap_or_default())
        }
        (None, None) => Failure::new(DEFAULT_FAILURE_CODE, "the worker gave no reason"),
    };
    Ok(Report::Failed {
        failure,
        retryable: retryable.unwrap_or(true),
        retry_after_ms: retry_after.map(|after| after.millis_from(now)).transpose()?,
        thrown: thrown.map(|it| Thrown { code: it.code, variables: it.variables }),
    })
}

/// Extends the lease of a task.
#[utoipa::path(
    post, path = "/tasks/{id}/extend", operation_id = "extendTaskLease", tag = "tasks", request_body = LeaseExtension,
    params(("id" = String, Path, description = "The task")),
    responses((status = 200, description = "The new end of the lease", body = ExtendedLease))
)]
async fn extend(
    State(app): State<App>,
    PathId(task): PathId<TaskId>,
    JsonBody(body): JsonBody<LeaseExtension>,
) -> Result<ExtendedLease> {
    let token = read_token(&body.lease_token);
    let command = Command::Extend { task, token, lease_ms: body.lease_ms };
    match app.kernel().call(command).await? {
        Reply::Extended { until } => ok(ExtendedLease { lease_until: until }),
        _ => Err(Error::LeaseLost(task).into()),
    }
}

/// Reports on several tasks, and claims others in the same commit if the request has a claim. Each
/// report has its own status.
#[utoipa::path(
    post, path = "/tasks/complete", operation_id = "completeTasks", tag = "tasks", request_body = TaskReports,
    responses((status = 200, description = "The result of each report", body = TaskReportResults))
)]
async fn complete_many(
    State(app): State<App>,
    JsonBody(body): JsonBody<TaskReports>,
) -> Result<TaskReportResults> {
    let most = app.kernel().limits().claim_tasks;
    if body.results.len() > most {
        let text = format!("one request carries at most {most} results");
        return Err(Problem::new(ProblemCode::InvalidBody, text));
    }
    if body.claim.as_ref().is_some_and(|claim| claim.wait_ms > 0) {
        let text = "a claim beside reports does not wait: leave out waitMs, or claim separately";
        return Err(Problem::new(ProblemCode::InvalidBody, text));
    }
    let claims = body.claim.is_some();
    let mut ids = Vec::with_capacity(body.results.len());
    let mut reports = Vec::with_capacity(body.results.len());
    let mut commands = Vec::with_capacity(body.results.len() + 1);
    for item in body.results {
        ids.push(item.id.clone());
        reports.push(report_command(&app, item).map(|command| commands.push(command)));
    }
    commands.extend(body.claim.map(|claim| Command::Claim(claim_command(claim))));
    // Sent together, they share a commit.
    let mut replies = app.kernel().call_all(commands).await;
    let tasks = if claims { Some(claimed_tasks(replies.pop())) } else { None };
    let mut replies = replies.into_iter();
    let results = ids.into_iter().zip(reports).map(|(id, report)| {
        let done = report.and_then(|()| match replies.next() {
            Some(reply) => reply.map(drop).map_err(Problem::from),
            None => Err(Problem::new(ProblemCode::Internal, "a report was not answered")),
        });
        report_result(id, done)
    });
    ok(TaskReportResults { results: results.collect(), tasks })
}

/// What a claim beside reports got. Its failure must not hide their results: a worker that gets no
/// task claims again, and is told then.
fn claimed_tasks(reply: Option<std::result::Result<Reply, Error>>) -> Vec<ClaimedTask> {
    match reply {
        Some(Ok(Reply::Tasks(tasks))) => tasks.into_iter().map(ClaimedTask::from).collect(),
        _ => Vec::new(),
    }
}

fn report_result(id: String, done: std::result::Result<(), Problem>) -> TaskReportResult {
    match done {
        Ok(()) => TaskReportResult { id, status: 200, code: None, detail: None },
        Err(problem) => TaskReportResult {
            id,
            status: problem.status().as_u16(),
            code: Some(problem.code().to_owned()),
            detail: Some(problem.detail().to_owned()),
        },
    }
}

fn report_command(app: &App, item: TaskReport) -> std::result::Result<Command, Problem> {
    let task: TaskId = item.id.parse().map_err(|error| Problem::from(error).into_not_found())?;
    let report = if item.error.is_some() || item.bpmn_error.is_some() {
        let now = app.kernel().now().engine;
        failure_report(item.error, item.retryable, item.retry_after, item.bpmn_error, now)?
    } else {
        Report::Completed(item.output)
    };
    let token = item.lease_token.as_deref().map(read_token);
    Ok(Command::Report { task, token, report })
}

#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
enum TaskKindParam {
    Worker,
    Engine,
    User,
}

#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
enum TaskStateParam {
    Ready,
    Leased,
    Held,
    Done,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only of this kind; `user` lists user tasks.
    #[serde(default)]
    #[param(inline)]
    kind: Option<TaskKindParam>,
    /// Only in this state.
    #[serde(default)]
    #[param(inline)]
    state: Option<TaskStateParam>,
    /// Only of this instance.
    #[serde(default)]
    instance: Option<String>,
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists open tasks, and detached tasks that have ended.
#[utoipa::path(
    get, path = "/tasks", operation_id = "listTasks", tag = "tasks", params(ListQuery),
    responses((status = 200, description = "Tasks", body = Page<Task>))
)]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Page<Task>> {
    let limit = pagination::limit(query.limit)?;
    let after: Option<TaskId> = pagination::parse_cursor(query.cursor.as_deref())?;
    let filter = TaskFilter {
        instance: query.instance.map(|id| id.parse()).transpose()?,
        kind: query.kind.map(|kind| match kind {
            TaskKindParam::Worker => TaskKind::Worker,
            TaskKindParam::Engine => TaskKind::Engine,
            TaskKindParam::User => TaskKind::User,
        }),
        state: query.state.map(|state| match state {
            TaskStateParam::Ready => TaskState::Ready,
            TaskStateParam::Leased => TaskState::Leased,
            TaskStateParam::Held => TaskState::Held,
            TaskStateParam::Done => TaskState::Done,
        }),
    };
    let mut rows = app.store().tasks(filter, pagination::store_page(after, limit)).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| more).map(|row| row.id.to_string());
    let of = rows.iter().map(|row| (row.id.0.instance, row.definition)).collect();
    audit::log_guarded_read(&app, &caller, "listTasks", of).await;
    let mut items = Vec::with_capacity(rows.len());
    for row in &rows {
        items.push(Task::of(row, app.definitions().get(row.definition).await?.name.clone()));
    }
    ok(Page { items, next_cursor })
}

/// Returns a task.
#[utoipa::path(
    get, path = "/tasks/{id}", operation_id = "getTask", tag = "tasks",
    params(("id" = String, Path, description = "The task")),
    responses((status = 200, description = "The task", body = Task))
)]
async fn get(State(app): State<App>, caller: Caller, PathId(id): PathId<TaskId>) -> Result<Task> {
    let row = app.store().task(id).await?.ok_or(Error::UnknownTask(id))?;
    audit::log_guarded_read(&app, &caller, "getTask", vec![(id.0.instance, row.definition)]).await;
    ok(Task::of(&row, app.definitions().get(row.definition).await?.name.clone()))
}

/// Assigns a user task to a person.
#[utoipa::path(
    post, path = "/tasks/{id}/assign", operation_id = "assignTask", tag = "tasks", request_body = TaskAssignment,
    params(("id" = String, Path, description = "The task")),
    responses((status = 200, description = "Assigned", body = OperationResult))
)]
async fn assign(
    State(app): State<App>,
    PathId(task): PathId<TaskId>,
    JsonBody(body): JsonBody<TaskAssignment>,
) -> Result<OperationResult> {
    app.kernel().call(Command::Assign { task, assignee: Some(body.assignee) }).await?;
    ok(OperationResult {})
}

/// Removes the assignee of a user task.
#[utoipa::path(
    post, path = "/tasks/{id}/unassign", operation_id = "unassignTask", tag = "tasks",
    params(("id" = String, Path, description = "The task")),
    responses((status = 200, description = "Unassigned", body = OperationResult))
)]
async fn unassign(State(app): State<App>, PathId(task): PathId<TaskId>) -> Result<OperationResult> {
    app.kernel().call(Command::Assign { task, assignee: None }).await?;
    ok(OperationResult {})
}
