//! `/journeys`: the journey-specific API, a view of the same instances.

use axum::body::Body as HttpBody;
use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use meantime_core::{InstanceId, Json};
use meantime_journey::surface::{self, Kind, StartMode};
use meantime_kernel::command::{Command, Error, Reply, StartCommand, Wait};
use utoipa_axum::routes;

use super::instance::idempotency_key;
use super::journey_list;
use super::table::Routes;
use crate::app::App;
use crate::audit;
use crate::auth::{Caller, Permission};
use crate::concurrency::RequestPermit;
use crate::extract::{PathId, PathParams, RawJson};
use crate::journey::{InboundRequest, SurfaceInstance, find, latest, visible_request};
use crate::problem::{Problem, ProblemCode};

type Result<T> = std::result::Result<T, Problem>;

pub(super) fn routes() -> Routes {
    Routes::new()
        .add_public(Permission::Operate, routes!(start))
        .add_long(Permission::Read, routes!(journey_list::list))
        .add_public(Permission::Read, routes!(status))
        .add_public(Permission::Read, routes!(result))
        .add_public(Permission::Operate, routes!(submit))
        .add_public(Permission::Operate, routes!(cancel))
}

/// Starts a journey. The body is its initial context.
#[utoipa::path(
    post, path = "/journeys/{name}/start", operation_id = "startJourney", tag = "journeys",
    params(
        ("name" = String, Path, description = "The journey"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "Makes retries safe: a repeated request returns the instance of the first one"),
    ),
    request_body(content = Option<serde_json::Value>, description = "An object"),
    responses(
        (status = 200, description = "The outcome, or the status", body = serde_json::Value),
        (status = 202, description = "Where to poll for the status (`startMode: async`)", body = serde_json::Value),
    )
)]
async fn start(
    State(app): State<App>,
    PathParams(name): PathParams<String>,
    RawQuery(query): RawQuery,
    permit: RequestPermit,
    headers: HeaderMap,
    RawJson(input): RawJson,
) -> Result<Response> {
    let named = latest(&app, &name, Kind::Journey).await?;
    let definition = named.definition().ok_or_else(|| unknown_definition(&name))?;
    let request = visible_request(&app, &headers, query.as_deref());
    let from_request = surface::start_request_bindings(definition, &request);
    let guard =
        app.requests().register(InboundRequest { request, passthrough: from_request.passthrough });
    let start = StartCommand {
        definition: name.clone(),
        input,
        request_bindings: from_request.request_bindings,
        idempotency: idempotency_key(&headers)?,
        ..StartCommand::default()
    };
    let is_sync = surface::start_mode(definition) == StartMode::Sync;
    let reply = if is_sync {
        // Answers when the run is idle or has ended (JR4).
        let patience = app.timeout_or_drain(app.settings().http.max_wait.into());
        let settled = app.kernel().start_until(start, Wait::Idle, patience);
        permit.release_while(settled).await??
    } else {
        app.kernel().start_until(start, Wait::Quiet, std::future::pending()).await?
    };
    let Reply::Started { instance, row, .. } = reply else {
        return Err(Problem::new(ProblemCode::Internal, "a start was answered by something else"));
    };
    if !is_sync {
        // The first tasks of the run may still read this request, so it is kept for the longest
        // wait (rule 31 rejects definitions that read it later).
        if surface::reads_inbound_request(definition) {
            let patience = app.timeout_or_drain(app.settings().http.max_wait.into());
            tokio::spawn(async move {
                patience.await;
                drop(guard);
            });
        }
        let body = surface::start_response(definition, &instance.to_string());
        return Ok(json(StatusCode::ACCEPTED, &body));
    }
    let instance_view = match row {
        Some(row) => SurfaceInstance::new(&app, *row).await?,
        None => find(&app, instance).await?,
    };
    let (definition, instance) =
        instance_view.definition_and_instance().ok_or_else(|| unknown_definition(&name))?;
    let body = surface::outcome(definition, &instance);
    Ok(json(StatusCode::OK, &body.unwrap_or_else(|| surface::status(definition, &instance))))
}

/// Sends a command and waits until the run is idle or has ended (JR4).
async fn call_until_idle(
    app: &App,
    permit: &RequestPermit,
    command: Command,
) -> Result<std::result::Result<Reply, Error>> {
    let patience = app.timeout_or_drain(app.settings().http.max_wait.into());
    permit.release_while(app.kernel().call_until(command, Wait::Idle, patience)).await
}

/// The instance, if its read guard admits the caller.
async fn find_readable(
    app: &App,
    permit: &RequestPermit,
    headers: &HeaderMap,
    id: InstanceId,
) -> Result<SurfaceInstance> {
    find(app, id).await?.check_read_guard(app, permit, headers).await
}

/// Returns the status of a journey.
#[utoipa::path(
    get, path = "/journeys/{id}", operation_id = "getJourney", tag = "journeys",
    params(("id" = String, Path, description = "The instance")),
    responses((status = 200, description = "JourneyStatus", body = serde_json::Value))
)]
async fn status(
    State(app): State<App>,
    permit: RequestPermit,
    headers: HeaderMap,
    PathId(id): PathId<InstanceId>,
) -> Result<Response> {
    let instance_view = find_readable(&app, &permit, &headers, id).await?;
    instance_response(&instance_view, surface::status)
}

/// Returns the outcome of a journey; 409 while it is running.
#[utoipa::path(
    get, path = "/journeys/{id}/result", operation_id = "getJourneyResult", tag = "journeys",
    params(("id" = String, Path, description = "The instance")),
    responses((status = 200, description = "JourneyOutcome", body = serde_json::Value))
)]
async fn result(
    State(app): State<App>,
    permit: RequestPermit,
    headers: HeaderMap,
    PathId(id): PathId<InstanceId>,
) -> Result<Response> {
    let instance_view = find_readable(&app, &permit, &headers, id).await?;
    let (definition, instance) =
        instance_view.definition_and_instance().ok_or(Error::UnknownInstance(id))?;
    let outcome = surface::outcome(definition, &instance);
    let outcome = outcome.ok_or_else(|| {
        Problem::new(ProblemCode::JourneyRunning, format!("journey {id} has not ended"))
    })?;
    Ok(json(StatusCode::OK, &outcome))
}

/// Submits a payload to a step. The body is the payload.
#[utoipa::path(
    post, path = "/journeys/{id}/steps/{step}", operation_id = "submitJourneyStep", tag = "journeys",
    params(
        ("id" = String, Path, description = "The instance"),
        ("step" = String, Path, description = "Id of an active wait or webhook"),
    ),
    request_body(content = Option<serde_json::Value>, description = "The payload"),
    responses((status = 200, description = "JourneyStatus, with the response of the step", body = serde_json::Value))
)]
async fn submit(
    State(app): State<App>,
    PathParams((id, step)): PathParams<(String, String)>,
    RawQuery(query): RawQuery,
    permit: RequestPermit,
    headers: HeaderMap,
    RawJson(payload): RawJson,
) -> Result<Response> {
    let id: InstanceId = id.parse().map_err(|error| Problem::from(error).into_not_found())?;
    let instance_view = find(&app, id).await?;
    let (definition, _) =
        instance_view.definition_and_instance().ok_or(Error::UnknownInstance(id))?;
    let request = visible_request(&app, &headers, query.as_deref());
    let from_request = surface::step_request_bindings(definition, &step, &request);
    let _guard =
        app.requests().register(InboundRequest { request, passthrough: from_request.passthrough });
    let (instance, name) = (id, step.clone());
    let command = Command::Submit {
        instance,
        step: name,
        payload,
        request_bindings: from_request.request_bindings,
    };
    call_until_idle(&app, &permit, command).await?.map_err(|error| match error {
        // The instance ended before the submission arrived.
        Error::InstanceEnded(_) => step_not_active(&step),
        error => error.into(),
    })?;
    let instance_view = find(&app, id).await?;
    instance_response(&instance_view, |definition, instance| {
        surface::submitted_status(definition, instance, &step)
    })
}

fn step_not_active(step: &str) -> Problem {
    let text = format!("the step `{step}` does not wait for a submission");
    Problem::new(ProblemCode::StepNotActive, text)
}

/// Cancels a journey. A journey that has ended or is compensating stays as it is (JC1, JR5).
#[utoipa::path(
    post, path = "/journeys/{id}/steps/cancel", operation_id = "cancelJourney", tag = "journeys",
    params(("id" = String, Path, description = "The instance")),
    responses((status = 200, description = "JourneyStatus", body = serde_json::Value))
)]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    permit: RequestPermit,
    headers: HeaderMap,
    PathId(id): PathId<InstanceId>,
) -> Result<Response> {
    let mut instance_view = find(&app, id).await?;
    if caller.role.is_none() {
        // A cancel has no guard of its own and its answer contains the status, so the read guard
        // applies to public callers.
        instance_view = instance_view.check_read_guard(&app, &permit, &headers).await?;
    } else {
        let of = vec![(id, instance_view.row.definition)];
        audit::log_guarded_read(&app, &caller, "cancelJourney", of).await;
    }
    let (definition, _) =
        instance_view.definition_and_instance().ok_or(Error::UnknownInstance(id))?;
    if !instance_view.is_closing_or_ended() {
        if !surface::is_cancellable(definition) {
            let text = format!("journey {id} cannot be cancelled by those who call it");
            return Err(Problem::new(ProblemCode::NotCancellable, text));
        }
        let by = caller.audit_info(None);
        app.kernel().call(Command::Cancel { instance: id, audit: by }).await?;
    }
    instance_response(&find(&app, id).await?, surface::status)
}

/// A response about an instance.
fn instance_response(
    instance_view: &SurfaceInstance,
    show: impl FnOnce(&meantime_core::Definition, &surface::Instance<'_>) -> Json,
) -> Result<Response> {
    let (definition, instance) = instance_view
        .definition_and_instance()
        .ok_or(Error::UnknownInstance(instance_view.row.id))?;
    Ok(json(StatusCode::OK, &show(definition, &instance)))
}

fn unknown_definition(name: &str) -> Problem {
    Error::UnknownDefinition { name: name.to_owned(), version: None }.into()
}

/// A response with JSON that is already text.
pub(super) fn json(status: StatusCode, body: &Json) -> Response {
    let mut response = Response::new(HttpBody::from(body.as_str().to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
