//! `/instances`: starts, shows, signals, corrects and cancels instances.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use meantime_core::InstanceId;
use meantime_kernel::command::{Command, Error, Reply, StartCommand, Wait};
use meantime_kernel::store::InstanceRow;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::reason::ReasonQuery;
use super::reply::{JsonResponse, Result, ok};
use super::table::Routes;
use super::{instance_control, instance_history, instance_list, instance_scope, instance_stats};
use crate::app::App;
use crate::auth::{Caller, Permission};
use crate::concurrency::RequestPermit;
use crate::extract::{JsonBody, PathId, PathParams, Query, RawJson};
use crate::problem::{Problem, ProblemCode};
use crate::wire::{
    DurationParam, Instance, InstanceResult, InstantParam, NewInstance, OperationResult,
    OperatorReason,
};
use crate::{audit, show};

pub(super) fn routes() -> Routes {
    Routes::new()
        .add(Permission::Operate, routes!(start))
        .add_long(Permission::Read, routes!(instance_list::list))
        .add_long(Permission::Read, routes!(instance_stats::stats))
        .add(Permission::Read, routes!(get))
        .add(Permission::Read, routes!(result))
        .add(Permission::Operate, routes!(set_variables))
        .add(Permission::Read, routes!(instance_scope::list))
        .add(Permission::Operate, routes!(instance_scope::set_variables))
        .add_long(Permission::Read, routes!(instance_history::history))
        .add_long(Permission::Read, routes!(instance_history::timeline))
        .add(Permission::Operate, routes!(cancel))
        .add(Permission::Operate, routes!(instance_control::suspend))
        .add(Permission::Operate, routes!(instance_control::resume))
        .add(Permission::Operate, routes!(instance_control::restart))
        .add(Permission::Operate, routes!(signal))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StartQuery {
    /// How long to wait until the instance is idle or has ended.
    #[serde(default)]
    #[param(value_type = Option<String>, example = "PT10S")]
    wait: Option<String>,
    /// What to wait for; `end` waits for the end only. Needs `wait`.
    #[serde(default, rename = "for")]
    #[param(inline)]
    until: Option<WaitTarget>,
}

/// What `wait` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
enum WaitTarget {
    /// Until the instance is idle: it has ended, or waits only for time, signals, messages, steps
    /// or people.
    Idle,
    /// The end only.
    End,
}

/// Starts an instance.
#[utoipa::path(
    post, path = "/instances", operation_id = "startInstance", tag = "instances",
    params(
        StartQuery,
        ("Idempotency-Key" = Option<String>, Header,
            description = "Makes retries safe: a repeated request returns the instance of the first one"),
    ),
    request_body = NewInstance,
    responses((status = 201, description = "The instance", body = Instance))
)]
async fn start(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<StartQuery>,
    permit: RequestPermit,
    headers: HeaderMap,
    JsonBody(new): JsonBody<NewInstance>,
) -> Result<Instance> {
    let now = app.kernel().now().engine;
    let limit = wait_limit(&app, query.wait.as_deref(), app.settings().http.max_wait.into())?;
    if limit.is_none() && query.until.is_some() {
        let text = "`for` needs `wait`, as in `?wait=PT10S&for=end`";
        return Err(Problem::new(ProblemCode::InvalidQuery, text));
    }
    let for_end = query.until == Some(WaitTarget::End);
    let command = StartCommand {
        definition: new.definition,
        version: new.version,
        input: new.input.clone(),
        key: new.key,
        deadline_at: new.deadline.as_ref().map(|deadline| deadline.from(now)).transpose()?,
        deadline_after: new.deadline.as_ref().and_then(InstantParam::duration),
        tags: new.tags,
        idempotency: idempotency_key(&headers)?,
        ..StartCommand::default()
    };
    let begun = app.kernel().now().real;
    let reply = start_and_wait(&app, &permit, command, limit, for_end).await?;
    let Reply::Started { instance, repeated, row } = reply else {
        return Err(Problem::new(ProblemCode::Internal, "a start was answered by something else"));
    };
    if let Some(limit) = limit.filter(|_| repeated && for_end) {
        // A repeated start returns at once, because the instance exists; it still has to wait for
        // the end, for what is left of its limit.
        let passed = app.kernel().now().real.saturating_since(begun);
        let passed = Duration::from_millis(u64::try_from(passed).unwrap_or_default());
        await_end(&app, &permit, instance, limit.saturating_sub(passed)).await?;
    }
    let row = match row {
        Some(row) => *row,
        None => find(&app, instance).await?,
    };
    if repeated {
        // Whoever repeats a request need not be the one who made it first.
        let of = vec![(instance, row.definition)];
        audit::log_guarded_read(&app, &caller, "startInstance", of).await;
    }
    let input = Some(new.input).filter(|_| !repeated);
    Ok(JsonResponse(StatusCode::CREATED, show::instance(&app, &row, input).await?))
}

/// The longest wait of a request, in real time.
fn wait_limit(
    app: &App,
    wait: Option<&str>,
    longest: Duration,
) -> std::result::Result<Option<Duration>, Problem> {
    let wait = wait.map(DurationParam::parse).transpose()?;
    let millis = wait.map(|wait| wait.millis_from(app.kernel().now().engine)).transpose()?;
    Ok(millis.map(|millis| Duration::from_millis(millis).min(longest)))
}

/// Completes when the instance has ended, after the limit, or when the server stops.
async fn await_end(
    app: &App,
    permit: &RequestPermit,
    instance: InstanceId,
    limit: Duration,
) -> std::result::Result<(), Problem> {
    let patience = app.timeout_or_drain(limit);
    let ended = app.kernel().call_until(Command::Await { instance }, Wait::Ended, patience);
    match permit.release_while(ended).await? {
        // A paused engine ends nothing; the caller gets the current status.
        Ok(_) | Err(Error::Paused) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Starts an instance and waits for it, up to the limit or until the server stops.
async fn start_and_wait(
    app: &App,
    permit: &RequestPermit,
    start: StartCommand,
    limit: Option<Duration>,
    for_end: bool,
) -> std::result::Result<Reply, Problem> {
    let Some(limit) = limit else {
        let for_ever = std::future::pending();
        return Ok(app.kernel().start_until(start, Wait::Quiet, for_ever).await?);
    };
    let patience = app.timeout_or_drain(limit);
    let wait = if for_end { Wait::Ended } else { Wait::Idle };
    let settled = app.kernel().start_until(start, wait, patience);
    Ok(permit.release_while(settled).await??)
}

pub(super) fn idempotency_key(headers: &HeaderMap) -> std::result::Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if !key.is_empty() => Ok(Some(key.to_owned())),
        _ => {
            let text = "Idempotency-Key must be visible ASCII characters";
            Err(Problem::new(ProblemCode::InvalidBody, text))
        }
    }
}

/// The row of an instance; a problem if it does not exist.
pub(super) async fn find(app: &App, id: InstanceId) -> std::result::Result<InstanceRow, Problem> {
    let row = app.store().instance(id).await?;
    row.ok_or_else(|| Error::UnknownInstance(id).into())
}

/// Returns an instance with its data.
#[utoipa::path(
    get, path = "/instances/{id}", operation_id = "getInstance", tag = "instances",
    params(("id" = String, Path, description = "The instance")),
    responses((status = 200, description = "The instance", body = Instance))
)]
async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
) -> Result<Instance> {
    let row = find(&app, id).await?;
    audit::log_guarded_read(&app, &caller, "getInstance", vec![(id, row.definition)]).await;
    ok(show::instance(&app, &row, None).await?)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ResultQuery {
    /// How long to wait for the end; at most a minute.
    #[serde(default)]
    #[param(value_type = Option<String>, example = "PT30S")]
    wait: Option<String>,
}

/// Returns the result of an instance; `wait` waits for its end.
#[utoipa::path(
    get, path = "/instances/{id}/result", operation_id = "getInstanceResult", tag = "instances",
    params(("id" = String, Path, description = "The instance"), ResultQuery),
    responses(
        (status = 200, description = "The instance has ended", body = InstanceResult),
        (status = 202, description = "The instance is still running", body = InstanceResult),
    )
)]
async fn result(
    State(app): State<App>,
    caller: Caller,
    permit: RequestPermit,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<ResultQuery>,
) -> Result<InstanceResult> {
    let limit = wait_limit(&app, query.wait.as_deref(), app.settings().http.max_claim_wait.into())?;
    let mut row = show::require_undamaged(find(&app, id).await?)?;
    if let Some(limit) = limit.filter(|_| !row.phase.is_ended()) {
        await_end(&app, &permit, id, limit).await?;
        row = show::require_undamaged(find(&app, id).await?)?;
    }
    audit::log_guarded_read(&app, &caller, "getInstanceResult", vec![(id, row.definition)]).await;
    let status = if row.phase.is_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok(JsonResponse(status, InstanceResult::of(&row)))
}

/// Sets variables of the root scope; recorded in the history.
#[utoipa::path(
    patch, path = "/instances/{id}/variables", operation_id = "setInstanceVariables", tag = "instances",
    params(("id" = String, Path, description = "The instance"), ReasonQuery),
    request_body(content = serde_json::Value, description = "An object of new values"),
    responses((status = 200, description = "The instance", body = Instance))
)]
async fn set_variables(
    State(app): State<App>,
    caller: Caller,
    PathId(instance): PathId<InstanceId>,
    Query(query): Query<ReasonQuery>,
    RawJson(values): RawJson,
) -> Result<Instance> {
    let by = caller.audit_info(query.reason);
    app.kernel().call(Command::SetVariables { instance, values, scope: None, audit: by }).await?;
    let row = find(&app, instance).await?;
    let of = vec![(instance, row.definition)];
    audit::log_guarded_read(&app, &caller, "setInstanceVariables", of).await;
    ok(show::instance(&app, &row, None).await?)
}

/// Cancels an instance. Idempotent: an instance that has ended stays as it is.
#[utoipa::path(
    post, path = "/instances/{id}/cancel", operation_id = "cancelInstance", tag = "instances",
    params(("id" = String, Path, description = "The instance")),
    request_body = Option<OperatorReason>,
    responses((status = 200, description = "The instance", body = Instance))
)]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    PathId(instance): PathId<InstanceId>,
    JsonBody(body): JsonBody<OperatorReason>,
) -> Result<Instance> {
    let by = caller.audit_info(body.reason);
    app.kernel().call(Command::Cancel { instance, audit: by }).await?;
    let row = find(&app, instance).await?;
    let of = vec![(instance, row.definition)];
    audit::log_guarded_read(&app, &caller, "cancelInstance", of).await;
    ok(show::instance(&app, &row, None).await?)
}

/// Sends a signal to an instance. Signals that the instance does not wait for yet are buffered in
/// order.
#[utoipa::path(
    post, path = "/instances/{id}/signals/{name}", operation_id = "signalInstance", tag = "instances",
    params(
        ("id" = String, Path, description = "The instance"),
        ("name" = String, Path, description = "The signal"),
    ),
    request_body(content = Option<serde_json::Value>, description = "The payload; an empty body is null"),
    responses((status = 202, description = "Delivered or buffered", body = OperationResult))
)]
async fn signal(
    State(app): State<App>,
    PathParams((id, name)): PathParams<(String, String)>,
    RawJson(payload): RawJson,
) -> Result<OperationResult> {
    let instance: InstanceId = id.parse().map_err(|error| Problem::from(error).into_not_found())?;
    app.kernel().call(Command::Signal { instance, name, payload }).await?;
    Ok(JsonResponse(StatusCode::ACCEPTED, OperationResult {}))
}
