//! `/instances/{id}/suspend`, `resume` and `restart`.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use meantime_core::{InstanceId, SCHEDULE_DEFINITION};
use meantime_kernel::command::{Command, Error, Reply, Restart, StartCommand, Suspending, Wait};

use super::instance::{find, idempotency_key};
use super::reply::{JsonResponse, Result, ok};
use crate::app::App;
use crate::auth::Caller;
use crate::extract::{JsonBody, PathId};
use crate::problem::{Problem, ProblemCode};
use crate::wire::{Instance, InstanceRestart, InstanceSuspension, InstantParam, OperatorReason};
use crate::{audit, show};

/// Suspends an instance: it takes no turns, and its events wait until it is resumed. Idempotent.
#[utoipa::path(
    post, path = "/instances/{id}/suspend", operation_id = "suspendInstance", tag = "instances",
    params(("id" = String, Path, description = "The instance")),
    request_body = Option<InstanceSuspension>,
    responses((status = 200, description = "The suspended instance", body = Instance))
)]
pub(super) async fn suspend(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    JsonBody(body): JsonBody<InstanceSuspension>,
) -> Result<Instance> {
    let what = Suspending::Suspend(body.timers.into());
    change(&app, &caller, "suspendInstance", id, what, body.reason).await
}

/// Resumes a suspended instance: its timers are released, and the events that waited are taken in
/// their order. Idempotent.
#[utoipa::path(
    post, path = "/instances/{id}/resume", operation_id = "resumeInstance", tag = "instances",
    params(("id" = String, Path, description = "The instance")),
    request_body = Option<OperatorReason>,
    responses((status = 200, description = "The resumed instance", body = Instance))
)]
pub(super) async fn resume(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    JsonBody(body): JsonBody<OperatorReason>,
) -> Result<Instance> {
    change(&app, &caller, "resumeInstance", id, Suspending::Resume, body.reason).await
}

async fn change(
    app: &App,
    caller: &Caller,
    operation: &'static str,
    instance: InstanceId,
    what: Suspending,
    reason: Option<String>,
) -> Result<Instance> {
    let audit = caller.audit_info(reason);
    app.kernel().call(Command::Suspend { instance, what, audit }).await?;
    let row = find(app, instance).await?;
    audit::log_guarded_read(app, caller, operation, vec![(instance, row.definition)]).await;
    ok(show::instance(app, &row, None).await?)
}

/// Starts an instance that has ended again, as a new one with the same input, business key and
/// tags.
#[utoipa::path(
    post, path = "/instances/{id}/restart", operation_id = "restartInstance", tag = "instances",
    params(
        ("id" = String, Path, description = "The instance to repeat; it must have ended"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "Makes retries safe: a repeated request returns the instance of the first one"),
    ),
    request_body = Option<InstanceRestart>,
    responses((status = 201, description = "The new instance", body = Instance))
)]
pub(super) async fn restart(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<InstanceRestart>,
) -> Result<Instance> {
    let now = app.kernel().now().engine;
    let row = show::require_undamaged(find(&app, id).await?)?;
    let definition = app.definitions().get(row.definition).await?;
    if definition.name == SCHEDULE_DEFINITION {
        let text = "schedules are created again, not restarted".to_owned();
        return Err(Error::Invalid(text).into());
    }
    if !row.phase.is_ended() {
        let text = format!("instance {id} is running: cancel it first, or wait for its end");
        return Err(Problem::new(ProblemCode::InstanceRunning, text));
    }
    let Some(input) = show::recorded_input(&app, &row).await? else {
        let text = format!("instance {id} ended before it began: its input was not recorded");
        return Err(Problem::new(ProblemCode::InputUnknown, text));
    };
    let command = StartCommand {
        definition: definition.name.clone(),
        version: body.version,
        input: input.clone(),
        key: row.key.clone(),
        deadline_at: body.deadline.as_ref().map(|deadline| deadline.from(now)).transpose()?,
        deadline_after: body.deadline.as_ref().and_then(InstantParam::duration),
        tags: row.meta.tags.clone(),
        idempotency: idempotency_key(&headers)?,
        restart: Some(Restart { of: id, audit: caller.audit_info(body.reason) }),
        ..StartCommand::default()
    };
    let for_ever = std::future::pending();
    let reply = app.kernel().start_until(command, Wait::Quiet, for_ever).await?;
    let Reply::Started { instance, .. } = reply else {
        return Err(Problem::new(ProblemCode::Internal, "a start was answered by something else"));
    };
    // The answer shows the input of the old instance.
    let shown = vec![(id, row.definition)];
    audit::log_guarded_read(&app, &caller, "restartInstance", shown).await;
    let row = find(&app, instance).await?;
    Ok(JsonResponse(StatusCode::CREATED, show::instance(&app, &row, Some(input)).await?))
}
